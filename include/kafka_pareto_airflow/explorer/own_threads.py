"""Run what may take long in threads of the explorer's own, and leave Airflow's to Airflow.

Airflow's API server has one process with one event loop and 40 threads, which all synchronous routes share: the tasks'
heartbeats too, and a task whose heartbeats wait for a minute is killed.
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
# Python runs one thread at a time: with more of them a heartbeat would wait longer for its turn.
_THREADS = 2
# Pages ask for shared answers again and again: nobody who asks for something else waits for these.
_THREADS_OF_SHARED = 1
_MOST_OPEN = 64

_Answer = TypeVar("_Answer")

_Computation: TypeAlias = Future[tuple[Any, float]]
"""An answer, and until when it is fresh."""


class BusyError(KafkaParetoError):
    """There is no answer yet: the same question may be answered a moment later."""


class _Queue:
    """Compute answers in its own threads, and refuse more than it may hold."""

    def __init__(self, threads: int, most_open: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="explorer")
        self._room = BoundedSemaphore(most_open)

    def begin(self, compute: Callable[[], tuple[Any, float]]) -> _Computation:
        """Begin to compute an answer.

        Raises:
            BusyError: If too many are under way or queued.
        """
        if not self._room.acquire(blocking=False):
            raise BusyError("the explorer is busy; try again in a minute")
        begun = self._pool.submit(compute)
        begun.add_done_callback(lambda _: self._room.release())
        return begun


class OwnThreads:
    """Compute answers in a few threads; whoever waits for one holds none.

    Args:
        threads: How many answers are computed at a time, beside one that is shared.
        most_open: How many may be under way or queued, and how many of those that are shared; more are refused.
        longest_s: How long a question waits for its answer.
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
        """Return the answer of whoever asked the same and still waits; compute it where nobody does.

        Args:
            question: What is asked.
            compute: Returns the answer.
            cache_cost_multiple: How long an answer is cached, as a multiple of the time that it took to compute. At 9 a
                question that is always asked takes a tenth of a core, however much there is to read.

        Raises:
            BusyError: If too many are open, or it takes too long.
        """
        with self._lock:
            self._shared = {asked: begun for asked, begun in self._shared.items() if _is_fresh(begun)}
            begin = partial(self._queue_of_shared.begin, partial(_timed, compute, cache_cost_multiple))
            begun = self._shared.get(question) or begin()
            self._shared[question] = begun
        answer: Response = await self._result(begun)
        # Headers of its own: Airflow's GZipMiddleware edits the list that a response hands it.
        return Response(answer.body, answer.status_code, answer.headers)

    async def _result(self, begun: _Computation) -> Any:
        try:
            answer, _ = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(begun)), self._longest_s)
        except TimeoutError as error:
            raise BusyError(f"no answer after {self._longest_s:g} s; try again in a minute") from error
        return answer


def _timed(compute: Callable[[], Any], cache_cost_multiple: float = 0.0) -> tuple[Any, float]:
    """Return an answer, and until when it is fresh."""
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
        """Add a route, whose function is called in the threads."""
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
