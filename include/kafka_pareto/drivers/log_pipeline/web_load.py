"""Has the load's processes send requests to the web server, and puts together what they say."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from kafka_pareto.brokers.processes import Opened
from kafka_pareto.drivers.common.child_process import READY, ChildProcess, Line, end_all
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.errors import LoadToolError

_LIBRARY = Path(__file__).parents[3]
_SOON_S = 0.3
_READY_S = 30.0
_ANSWERED_S = 45.0
_STOP_S = 3.0
_P95 = 0.95
_P99 = 0.99


@dataclass(frozen=True)
class Answered:
    """Holds what came of requests.

    Attributes:
        began_at: When the first second began, in seconds since 1970.
        due: How many were to be sent; all are, however late.
        refused: Answered with an error of the server's, or not at all.
        late_p95_ms: How late one was sent.
        late_p99_ms: The same; a load that stands still for a hundredth of a run shows in it.
        response_p95_ms: From when one was due to its answer.
        answered_ids: By which the log knows those that were answered.
    """

    began_at: float
    due: int
    refused: int
    late_p95_ms: float
    late_p99_ms: float
    response_p95_ms: float
    answered_ids: Sequence[str] = ()

    @property
    def began_ms(self) -> int:
        """Returns when the first second began, in milliseconds since 1970, as stamps are."""
        return int(self.began_at * 1000)


class WebLoad(Opened):
    """Opens a context in which so many processes are ready to send.

    Args:
        url: Of the web server.
        processes: How many.
        replayed: The file with the requests of a log, which they share; None where none is replayed.

    Raises:
        LoadStartError: On entering, if one does not become ready.
    """

    def __init__(self, url: str, processes: int, replayed: Path | None = None) -> None:
        self._url = url
        self._number = processes
        self._replayed = replayed
        self._senders: list[ChildProcess] = []

    def _open(self, opened: ExitStack) -> None:
        opened.callback(self._end)
        self._start()

    @property
    def pids(self) -> Sequence[int]:
        """Lists the processes' ids."""
        return [each.pid for each in self._senders]

    def renew(self) -> None:
        """Starts all processes anew.

        Raises:
            LoadStartError: If one does not become ready.
        """
        self._end()
        self._start()

    def send(self, wanted: Wanted) -> Answered:
        """Sends what is wanted, shared among the processes, beginning in a moment; waits for all answers.

        Raises:
            LoadToolError: If a process ends, or does not answer. What is still on its way would be taken for the next
                requests: `renew` comes before these.
        """
        wanted, said = self._sent(wanted)
        late_ms = np.concatenate([each["late_ms"] for each in said])
        response_ms = np.concatenate([each["response_ms"] for each in said])
        if not late_ms.size:
            raise LoadToolError(f"no request was due within {wanted.seconds:g} s; ask for a higher rate")
        return Answered(
            began_at=wanted.begins_at,
            due=sum(each["due"] for each in said),
            refused=sum(each["refused"] for each in said),
            late_p95_ms=float(np.quantile(late_ms, _P95)),
            late_p99_ms=float(np.quantile(late_ms, _P99)),
            response_p95_ms=float(np.quantile(response_ms, _P95)),
            answered_ids=[each_id for each in said for each_id in each["answered_ids"]],
        )

    def trickle(self, wanted: Wanted) -> None:
        """Sends what is wanted and waits for the answers; unlike in `send`, no request need be due.

        Raises:
            LoadToolError: As `send` does.
        """
        self._sent(wanted)

    def _sent(self, wanted: Wanted) -> tuple[Wanted, list[Line]]:
        """Returns what each process was told, and what it said."""
        wanted = replace(wanted, begins_at=time.time() + _SOON_S, rate_s=wanted.rate_s / self._number)
        for sender in self._senders:
            sender.tell(asdict(wanted))
        return wanted, [sender.next_line("due", wanted.seconds + _ANSWERED_S) for sender in self._senders]

    def _start(self) -> None:
        environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(_LIBRARY), "LC_ALL": "C.UTF-8"}
        for number in range(self._number):
            options = ["--address", self._url, "--process", str(number), "--processes", str(self._number)]
            options += ["--replayed", str(self._replayed)] if self._replayed else []
            argv = [sys.executable, "-m", "kafka_pareto.drivers.log_pipeline.shoppers.load", *options]
            self._senders.append(ChildProcess(f"load {number}", argv, environment))
        for sender in self._senders:
            sender.next_line(READY, _READY_S)

    def _end(self) -> None:
        end_all(self._senders, _STOP_S)
        self._senders.clear()
