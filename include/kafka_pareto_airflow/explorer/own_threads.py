"""Run slow requests in the explorer's own threads instead of Airflow's.

Airflow's API server has one process with one event loop and 40 threads, shared by all synchronous routes, including the
tasks' heartbeats. Airflow kills a task whose heartbeat is delayed for a minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from threading import BoundedSemaphore, Lock
from typing import Any, TypeAlias, TypeVar, get_type_hints

from fastapi import APIRouter, Response
from pydantic import TypeAdapter

from kafka_pareto.errors import KafkaParetoError

LONGEST_S = 45.0
# Python runs one thread at a time, so more threads would delay heartbeats.
_THREADS = 2
# Pages poll shared answers, so these have their own thread and do not delay other requests.
_THREADS_OF_SHARED = 1
_MOST_OPEN = 64

_Answer = TypeVar("_Answer")

_Computation: TypeAlias = Future[tuple[Any, float]]
"""An answer and its expiry time."""


class BusyError(KafkaParetoError):
    """No answer yet; a later retry may succeed."""


class _Queue:
    """Compute answers in its own threads, and refuse those beyond its limit."""

    def __init__(self, threads: int, most_open: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="explorer")
        self._room = BoundedSemaphore(most_open)

    def begin(self, compute: Callable[[], tuple[Any, float]]) -> _Computation:
        """Start computing an answer.

        Raises:
            BusyError: If too many are running or queued.
        """
        if not self._room.acquire(blocking=False):
            raise BusyError("the explorer is busy; try again in a minute")
        begun = self._pool.submit(compute)
        begun.add_done_callback(lambda _: self._room.release())
        return begun


class OwnThreads:
    """Compute answers in a few threads; waiting requests occupy none.

    Args:
        threads: The number of answers computed simultaneously, besides one shared answer.
        most_open: The number of answers that may be running or queued, separately for shared ones; more are refused.
        longest_s: How long a request waits for its answer.
    """

    def __init__(self, threads: int = _THREADS, most_open: int = _MOST_OPEN, longest_s: float = LONGEST_S) -> None:
        self._queue = _Queue(threads, most_open)
        self._queue_of_shared = _Queue(_THREADS_OF_SHARED, most_open)
        self._longest_s = longest_s
        self._lock = Lock()
        self._shared: dict[Hashable, _Computation] = {}

    async def answer(self, compute: Callable[[], _Answer]) -> _Answer:
        """Return the answer once it is computed.

        Raises:
            BusyError: If too many are open, or it takes too long.
        """
        found: _Answer = await self._result(self._queue.begin(partial(_timed, compute)))
        return found

    async def shared_answer(
        self, question: Hashable, compute: Callable[[], Response], cache_cost_multiple: float = 0.0
    ) -> Response:
        """Return the answer of a pending identical request, or else compute it.

        Args:
            question: The request's key.
            compute: Returns the answer.
            cache_cost_multiple: How long an answer is cached, as a multiple of its computation time. At 9, a constantly
                polled answer takes 10 % of a core, whatever its size.

        Raises:
            BusyError: If too many are open, or it takes too long.
        """
        with self._lock:
            self._shared = {asked: begun for asked, begun in self._shared.items() if _is_fresh(begun)}
            begin = partial(self._queue_of_shared.begin, partial(_timed, compute, cache_cost_multiple))
            begun = self._shared.get(question) or begin()
            self._shared[question] = begun
        answer: Response = await self._result(begun)
        # A copy of the headers, because Airflow's GZipMiddleware edits the list in place.
        return Response(answer.body, answer.status_code, answer.headers)

    async def _result(self, begun: _Computation) -> Any:
        try:
            answer, _ = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(begun)), self._longest_s)
        except TimeoutError as error:
            raise BusyError(f"no answer after {self._longest_s:g} s; try again in a minute") from error
        return answer


def _timed(compute: Callable[[], Any], cache_cost_multiple: float = 0.0) -> tuple[Any, float]:
    """Return an answer and its expiry time."""
    begun_s = time.monotonic()
    answer = compute()
    ended_s = time.monotonic()
    return answer, ended_s + cache_cost_multiple * (ended_s - begun_s)


def _is_fresh(begun: _Computation) -> bool:
    return not begun.done() or (begun.exception() is None and begun.result()[1] > time.monotonic())


class DataRouter(APIRouter):
    """Routes whose answers are computed in these threads, down to their JSON."""

    def __init__(self, threads: OwnThreads, prefix: str = "") -> None:
        super().__init__(prefix=prefix)
        self._threads = threads

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route whose function runs in the threads."""
        super().add_api_route(path, _in_threads(self._threads, endpoint), **options)


def _in_threads(threads: OwnThreads, endpoint: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Response]]:
    kind = get_type_hints(endpoint)["return"]
    is_json = not (isinstance(kind, type) and issubclass(kind, Response))
    adapter: TypeAdapter[Any] = TypeAdapter(kind if is_json else None)

    def compute(arguments: dict[str, Any]) -> Response:
        found = endpoint(**arguments)
        return Response(adapter.dump_json(found), media_type="application/json") if is_json else found

    @wraps(endpoint)
    async def answer(**arguments: Any) -> Response:
        return await threads.answer(partial(compute, arguments))

    return answer
