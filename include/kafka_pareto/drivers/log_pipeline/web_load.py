"""Send requests to the web server from several processes and merge their results."""

from __future__ import annotations

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
from kafka_pareto.drivers.log_pipeline.web_parts import environment
from kafka_pareto.errors import LoadToolError

_LIBRARY = Path(__file__).parents[3]
_SOON_S = 0.3
_READY_S = 30.0
_ANSWERED_S = 45.0
_STOP_S = 3.0


@dataclass(frozen=True)
class Answered:
    """Results of a run's requests.

    Attributes:
        began_at: Start of the first second, in seconds since 1970.
        due: Requests to send; all are sent, however late.
        refused: Answered with a server error, or not at all.
        late_p95_ms: 95th percentile of the send delay.
        late_p99_ms: Its 99th percentile; shows a load generator that stalls for 1 % of a run.
        response_p95_ms: 95th percentile of the time from a request's due time to its answer.
        answered_ids: IDs by which the log identifies the answered requests.
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
        """Return the start of the first second, in milliseconds since 1970."""
        return int(self.began_at * 1000)


class WebLoad(Opened):
    """Context in which this many load generators are ready to send; they share the requests in `replayed`, if any."""

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
        """List the process ids."""
        return [each.pid for each in self._senders]

    def renew(self) -> None:
        """Restart all processes."""
        self._end()
        self._start()

    def send(self, wanted: Wanted) -> Answered:
        """Send the requests, starting shortly, and wait for all answers.

        Call `renew` after an error; otherwise late answers count for the next run.

        Raises:
            LoadToolError: If a process ends or does not answer, or no request was due.
        """
        wanted, results = self._sent(wanted)
        late_ms = np.concatenate([each["late_ms"] for each in results])
        response_ms = np.concatenate([each["response_ms"] for each in results])
        if not late_ms.size:
            raise LoadToolError(f"no request was due within {wanted.seconds:g} s; set a higher load")
        late_p95_ms, late_p99_ms = np.quantile(late_ms, (0.95, 0.99))
        return Answered(
            began_at=wanted.begins_at,
            due=sum(each["due"] for each in results),
            refused=sum(each["refused"] for each in results),
            late_p95_ms=float(late_p95_ms),
            late_p99_ms=float(late_p99_ms),
            response_p95_ms=float(np.quantile(response_ms, 0.95)),
            answered_ids=[each_id for each in results for each_id in each["answered_ids"]],
        )

    def trickle(self, wanted: Wanted) -> None:
        """Send the requests and wait for the answers; unlike `send`, accept that none is due."""
        self._sent(wanted)

    def _sent(self, wanted: Wanted) -> tuple[Wanted, list[Line]]:
        wanted = replace(wanted, begins_at=time.time() + _SOON_S, rate_s=wanted.rate_s / self._number)
        for sender in self._senders:
            sender.tell(asdict(wanted))
        return wanted, [sender.next_line("due", wanted.seconds + _ANSWERED_S) for sender in self._senders]

    def _start(self) -> None:
        for number in range(self._number):
            options = ["--address", self._url, "--process", str(number), "--processes", str(self._number)]
            options += ["--replayed", str(self._replayed)] if self._replayed else []
            argv = [sys.executable, "-m", "kafka_pareto.drivers.log_pipeline.shoppers.load", *options]
            self._senders.append(ChildProcess(f"load generator {number}", argv, environment(PYTHONPATH=str(_LIBRARY))))
        for sender in self._senders:
            sender.next_line(READY, _READY_S)

    def _end(self) -> None:
        end_all(self._senders, _STOP_S)
        self._senders.clear()
