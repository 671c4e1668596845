"""Serve the page *Doctor*: inspect the stack's cluster on request, read-only."""

from __future__ import annotations

import html
from collections.abc import Callable

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from kafka_pareto.doctor.examine import examine
from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import DoctorRequest
from kafka_pareto_airflow.explorer.own_threads import LONGEST_S, OwnThreads

_HOME = {"Pareto explorer": "./", "Comparisons": "comparisons"}
_TROUBLE_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Doctor</title>'
    '<link rel="stylesheet" href="static/explorer.css"></head><body>'
    '<header><h1>Doctor</h1><nav><a href="./">Pareto explorer</a></nav></header>'
    '<p class="trouble" role="alert">{} Reload the page to retry.</p></body></html>'
)


def doctor_router(policy: str, look: Callable[[], str] | None = None, longest_s: float = LONGEST_S) -> APIRouter:
    """Return the page's route. Simultaneous requests share one inspection, because each starts a JVM.

    Args:
        policy: The Content-Security-Policy of a page that brings its own style.
        look: Returns the page of an inspection; replaced in tests.
        longest_s: How long a request waits.
    """
    router = APIRouter()
    threads = OwnThreads(threads=1, longest_s=longest_s)

    def page() -> Response:
        return HTMLResponse((look or _own_cluster_page)(), headers={"Content-Security-Policy": policy})

    @router.get("/doctor")
    async def doctor() -> Response:
        """Inspect the stack's cluster, and return the page."""
        try:
            return await threads.shared_answer("doctor", page)
        except KafkaParetoError as error:
            said = html.escape(f"The cluster could not be inspected: {error}.")
            return HTMLResponse(_TROUBLE_PAGE.format(said), 404 if isinstance(error, BadInputError) else 503)

    return router


def _own_cluster_page() -> str:
    settings = load_settings()
    if not settings.bootstrap_servers:
        raise BadInputError("this installation has no cluster: KAFKA_PARETO_BOOTSTRAP_SERVERS is not set")
    return doctor_page(examine(DoctorRequest(kafka=settings.bootstrap_servers), load_guide(), settings), _HOME)
