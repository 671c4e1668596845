"""Answers the page *Doctor*: looks at the installation's own cluster when somebody asks, and sets nothing."""

from __future__ import annotations

import html
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from kafka_pareto.doctor.examine import DoctorRequest, examine
from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.errors import BadInputError, ClusterError, KafkaParetoError
from kafka_pareto.settings import load_settings

LONGEST_S = 45.0
_HOME = {"Pareto explorer": "./"}
_TROUBLE_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Doctor</title>'
    '<link rel="stylesheet" href="static/explorer.css"></head><body>'
    '<header><h1>Doctor</h1><nav><a href="./">Pareto explorer</a></nav></header>'
    '<p class="trouble" role="alert">{} Load the page again to look again.</p></body></html>'
)


class Examination:
    """Examines the cluster, one examination at a time: each starts a Java process.

    Args:
        longest_s: How long whoever asks waits for it.
        look: Returns the page of an examination; another one in tests.
    """

    def __init__(self, longest_s: float = LONGEST_S, look: Callable[[], str] | None = None) -> None:
        self._longest_s = longest_s
        self._look = look or _own_cluster_page
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="doctor")
        self._running: Future[str] | None = None

    def page(self) -> str:
        """Returns the page of an examination; who asks while one is under way gets that one's.

        Raises:
            BadInputError: If the installation has no cluster.
            ClusterError: If the cluster is away, or the examination takes too long.
        """
        with self._lock:
            if self._running is None or self._running.done():
                self._running = self._pool.submit(self._look)
            running = self._running
        try:
            return running.result(self._longest_s)
        except TimeoutError as error:
            raise ClusterError(f"the examination has not ended after {self._longest_s:g} s") from error


def doctor_router(examination: Examination, policy: str) -> APIRouter:
    """Returns the route of the page; `policy` is the Content-Security-Policy of a page that brings its own style."""
    router = APIRouter()

    @router.get("/doctor")
    def doctor() -> HTMLResponse:
        """Examines the installation's own cluster, and returns the page."""
        try:
            return HTMLResponse(examination.page(), headers={"Content-Security-Policy": policy})
        except KafkaParetoError as error:
            said = html.escape(f"The cluster could not be examined: {error}.")
            return HTMLResponse(_TROUBLE_PAGE.format(said), 404 if isinstance(error, BadInputError) else 503)

    return router


def _own_cluster_page() -> str:
    settings = load_settings()
    if not settings.bootstrap_servers:
        raise BadInputError("this installation has no cluster of its own: KAFKA_PARETO_BOOTSTRAP_SERVERS is not set")
    return doctor_page(examine(DoctorRequest(kafka=settings.bootstrap_servers), load_guide(), settings), _HOME)
