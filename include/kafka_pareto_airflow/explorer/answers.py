"""Set security headers on every response of the explorer, and turn each error into one message."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse

from kafka_pareto.errors import ArtifactError, BadInputError, KafkaParetoError, MissingArtifactError

# The one style sheet that Plotly 7.1.0 inserts. For any other, the browser's console shows the hash.
_STYLE_OF_PLOTLY = "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='"
# Scripts and styles are files of this app. A page from the store (report, Data Docs) may contain styles but no scripts,
# and is isolated from this origin.
_PAGE_POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {_STYLE_OF_PLOTLY}; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
STORED_PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline' 'self'; img-src data: 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox allow-downloads"
)

_LOGIN_PAGE = (
    '<!doctype html><html lang="en"><title>Log in first</title>'
    '<p>Log in to <a href="../">Airflow</a>, then reload this page.</p></html>'
)


def guard_answers(app: FastAPI) -> None:
    """Set the headers of all responses of an app, and its error responses."""
    app.add_exception_handler(KafkaParetoError, _said)
    app.add_exception_handler(RequestValidationError, _refused)
    app.add_exception_handler(HTTPException, _http_error)
    app.middleware("http")(_with_headers)


def download(name: str) -> dict[str, str]:
    """Return the header that makes a response a download of this name."""
    return {"Content-Disposition": f'attachment; filename="{re.sub("[^A-Za-z0-9._-]", "_", name)}"'}


async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    response.headers.setdefault("Content-Security-Policy", _PAGE_POLICY)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    return response


async def _said(_request: Request, error: Exception) -> JSONResponse:
    """Return a project's error as one clear message for the user."""
    if isinstance(error, ArtifactError) and not isinstance(error, MissingArtifactError):
        return JSONResponse({"detail": str(error)}, 422)
    return JSONResponse({"detail": str(error)}, 404 if isinstance(error, BadInputError) else 503)


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """Return a refusal that names the invalid parameters, without repeating the input."""
    places = [str(each["loc"][-1]) for each in error.errors()] if isinstance(error, RequestValidationError) else []
    return JSONResponse({"detail": f"invalid: {', '.join(places)}"}, 404)


async def _http_error(request: Request, error: Exception) -> Response:
    status, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    if status == 401 and request.url.path.endswith(("/", "/comparisons", "/doctor", "/audit")):
        return HTMLResponse(_LOGIN_PAGE, status)
    return JSONResponse({"detail": detail}, status)
