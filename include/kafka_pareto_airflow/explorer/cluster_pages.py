"""Serve the pages *Doctor* and *Audit*: inspect the stack's cluster on request, read-only."""

from __future__ import annotations

import html
from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from kafka_pareto.audit.audit import audit
from kafka_pareto.audit.page import audit_page
from kafka_pareto.doctor.examine import examine
from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.requests import AuditRequest, DoctorRequest
from kafka_pareto_airflow.explorer.own_threads import LONGEST_S, OwnThreads

_HOME = {"Pareto explorer": "./", "Comparisons": "comparisons"}
_TROUBLE_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<link rel="stylesheet" href="static/explorer.css"></head><body>'
    '<header><h1>{title}</h1><nav><a href="./">Pareto explorer</a></nav></header>'
    '<p class="trouble" role="alert">{trouble} Reload the page to retry.</p></body></html>'
)
_AUDIT = AuditRequest(records=5_000, read_mib=2, seconds=3)
"""Reads less of each topic than the command does by default."""
_LONGEST_AUDIT_S = 30.0


def _doctor() -> str:
    settings = _own_cluster()
    request = DoctorRequest(kafka=settings.bootstrap_servers)
    return doctor_page(examine(request, load_guide(), settings), _HOME | {"Audit": "audit"})


def _audit() -> str:
    settings = _own_cluster()
    report = audit(_AUDIT, settings.bootstrap_servers, settings, longest_s=_LONGEST_AUDIT_S)
    return audit_page(report, _HOME | {"Doctor": "doctor"})


def _own_cluster() -> Settings:
    settings = load_settings()
    if not settings.bootstrap_servers:
        raise BadInputError("this installation has no cluster: KAFKA_PARETO_BOOTSTRAP_SERVERS is not set")
    return settings


_PAGES: Mapping[str, Callable[[], str]] = {"doctor": _doctor, "audit": _audit}


def cluster_router(
    policy: str, inspections: Mapping[str, Callable[[], str]] = _PAGES, longest_s: float = LONGEST_S
) -> APIRouter:
    """Return the pages' routes. Simultaneous requests share one inspection, because each starts a JVM.

    Args:
        policy: The Content-Security-Policy of a page that brings its own style.
        inspections: Maps a page's name to the function that inspects and returns the page; replaced in tests.
        longest_s: How long a request waits.
    """
    router = APIRouter()
    for name, inspect in inspections.items():
        threads = OwnThreads(threads=1, longest_s=longest_s)
        router.get(f"/{name}")(_route(name, inspect, policy, threads))
    return router


def _route(
    name: str, inspect: Callable[[], str], policy: str, threads: OwnThreads
) -> Callable[[], Awaitable[Response]]:
    def page() -> Response:
        return HTMLResponse(inspect(), headers={"Content-Security-Policy": policy})

    async def route() -> Response:
        """Inspect the stack's cluster, and return the page."""
        try:
            return await threads.shared_answer(name, page)
        except KafkaParetoError as error:
            trouble = html.escape(f"The cluster could not be inspected: {error}.")
            status = 404 if isinstance(error, BadInputError) else 503
            return HTMLResponse(_TROUBLE_PAGE.format(title=name.capitalize(), trouble=trouble), status)

    return route
