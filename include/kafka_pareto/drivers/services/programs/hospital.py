"""The hospital, the load generator: it places orders at a rate or as fast as it can, and receives the confirmations.

Each line of JSON on its standard input requests orders and is answered by a line. A line that names a run as `after`
asks for its current totals: the last run's confirmations are still counted after its answer.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import ClassVar

from confluent_kafka import KafkaException

from kafka_pareto.drivers.services.programs.figures import (
    by_second,
    jitter_ms,
    latency_of,
    longest_gap_s,
    slope_of,
    smoothed_jitter_ms,
)
from kafka_pareto.drivers.services.programs.messages import ORDER_CONFIRMATION, ORDER_PLACED, PLACED_ONLY, Record
from kafka_pareto.drivers.services.programs.sender import STATISTICS_EVERY_S, Outgoing, Sender
from kafka_pareto.drivers.services.programs.service import Handler, Service, options_of, say, serve

_DRUGS = ("amoxicillin", "atorvastatin", "ibuprofen", "insulin", "metformin", "paracetamol", "salbutamol")
_US = 1e6
_OPEN_EVERY_S = 0.1
# Cold brokers on a slow disk take long. Whoever measures the script's own limit waits a minute for it.
_PLACED_ONLY_WITHIN_S = 50.0


@dataclass(frozen=True)
class Asked:
    """A request for orders.

    Attributes:
        run: Prefix of its order ids.
        rate_s: Orders due per second; 0 for as fast as possible.
        hospitals: The number of different keys; 0 for a key per order.
        timeout_s: The longest wait for the last confirmation, from the first order on.
        skip_s: Orders of this many first seconds are excluded from latencies and backlog.
        most_open: Stop placing once more orders than this are unconfirmed; 0 for no limit.
    """

    run: str
    orders: int
    rate_s: float = 0.0
    hospitals: int = 0
    timeout_s: float = 120.0
    skip_s: float = 0.0
    most_open: int = 0


@dataclass
class _Run:
    """The progress of one request; the sending thread writes `sent_at` and `is_placed`, the other one all else.

    `confirmed_at` and `latencies_s` are in order of arrival; `open_at` samples the number of open orders.
    """

    asked: Asked
    began_at: float
    sent_at: list[float] = field(default_factory=list)
    is_placed: bool = False
    confirmed_at: list[float] = field(default_factory=list)
    created_at: list[float] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    open_at: list[tuple[float, int]] = field(default_factory=list)
    placing_s: list[float] = field(default_factory=list)
    confirming_s: list[float] = field(default_factory=list)
    confirmed: set[str] = field(default_factory=set)
    repeated: int = 0
    last_of_key: dict[str, float] = field(default_factory=dict)
    overtaken: int = 0
    failure: str = ""

    def is_over(self, now: float) -> bool:
        """Return whether all orders are confirmed, no more can be sent, or the timeout has expired."""
        is_confirmed = self.is_placed and len(self.confirmed) >= len(self.sent_at)
        return bool(self.failure) or is_confirmed or now > self.began_at + self.asked.timeout_s

    def counted(self, of_each: list[float]) -> list[float]:
        """Return the values of the counted orders, in order of arrival."""
        since = self.began_at + self.asked.skip_s
        return [value for created_at, value in zip(self.created_at, of_each, strict=True) if created_at >= since]


class RequestLatency:
    """Average librdkafka's request latencies, weighted by the number of requests."""

    def __init__(self) -> None:
        self.windows = 0
        self._sum_ms = 0.0
        self._count = 0

    def take(self, statistics: str) -> None:
        """Take one window of statistics."""
        self.windows += 1
        for broker in json.loads(statistics).get("brokers", {}).values():
            window = broker.get("rtt", {})
            self._sum_ms += window.get("sum", 0) / _US * 1e3
            self._count += window.get("cnt", 0)

    def mean_ms(self) -> float | None:
        """Return the mean since the last call, and reset."""
        mean = self._sum_ms / self._count if self._count else None
        self._sum_ms, self._count = 0.0, 0
        return mean


class Hospital(Handler):
    """The current run and its outcome."""

    reads: ClassVar = (ORDER_CONFIRMATION,)

    def __init__(self, options: Namespace) -> None:
        self._requests = RequestLatency()
        self._sender = Sender(options, self._requests.take)
        self._asked: SimpleQueue[Asked] = SimpleQueue()
        self._run: _Run | None = None
        self._ended: _Run | None = None

    def ask(self, asked: Asked) -> None:
        """Queue a request; runs follow one another."""
        self._asked.put(asked)

    def after(self, run: str) -> Record:
        """Return the totals of the last finished run: confirmed orders, and duplicates."""
        ended = self._ended
        if ended is None or ended.asked.run != run:
            raise ValueError(f"{run}: must be the run that ended last")
        return {"after": run, "confirmed": len(ended.confirmed), "repeated": ended.repeated}

    def handle(self, topic: str, record: Record, appended_at: float) -> Iterable[Outgoing]:  # noqa: ARG002
        """Record a confirmation."""
        now, order_id = time.time(), record["order_id"]
        runs = (run for run in (self._run, self._ended) if run and order_id.startswith(f"{run.asked.run}-"))
        run = next(runs, None)
        if run is None:
            return ()
        if order_id in run.confirmed:
            run.repeated += 1
            return ()
        run.confirmed.add(order_id)
        run.confirmed_at.append(now)
        created_at = record["created_at"]
        run.created_at.append(created_at)
        run.overtaken += created_at < run.last_of_key.get(record["key"], created_at)
        run.last_of_key[record["key"]] = max(created_at, run.last_of_key.get(record["key"], created_at))
        run.latencies_s.append(now - created_at)
        run.placing_s.append(record["placed_at"] - created_at)
        run.confirming_s.append(appended_at - record["placed_at"])
        return ()

    def tick(self) -> Iterable[Outgoing]:
        """Begin the next run, or end the current one once it is over."""
        run, now = self._run, time.time()
        if run is not None and not run.is_placed and (not run.open_at or now > run.open_at[-1][0] + _OPEN_EVERY_S):
            run.open_at.append((now, len(run.sent_at) - len(run.confirmed)))
        if run is not None and run.is_over(now):
            self._run, self._ended = None, run  # before the reader of the result asks for later totals
            say(self._result(run))
        if self._run is None:
            try:
                asked = self._asked.get_nowait()
            except Empty:
                return ()
            self._sender.restart()
            self._requests.mean_ms()
            self._run = _Run(asked, time.time())
            threading.Thread(target=self._place_all, args=(self._run,), daemon=True).start()
        return ()

    def _place_all(self, run: _Run) -> None:
        try:
            self._place(run)
        except KafkaException as error:
            run.failure = str(error)
        run.is_placed = True

    def _place(self, run: _Run) -> None:
        """Place the orders; at a rate, each counts as created when it is due, however late it is sent."""
        asked = run.asked
        for number in range(asked.orders):
            too_many_wait = asked.most_open and number - len(run.confirmed) > asked.most_open
            if too_many_wait or time.time() > run.began_at + asked.timeout_s:
                break
            due_at = time.time()
            if asked.rate_s:
                due_at = run.began_at + number / asked.rate_s
                while (wait_s := due_at - time.time()) > 0:
                    self._sender.poll(min(wait_s, 0.01))
            run.sent_at.append(time.time())
            self._sender.send(Outgoing(ORDER_PLACED, _order(asked, number, due_at)))
        self._sender.flush(max(run.began_at + asked.timeout_s - time.time(), 1.0))
        # The statistics window with the last requests has not arrived yet.
        windows, until = self._requests.windows, time.time() + 3 * STATISTICS_EVERY_S
        while self._requests.windows == windows and time.time() < until:
            self._sender.poll(STATISTICS_EVERY_S / 10)

    def _result(self, run: _Run) -> Record:
        counted, sent_at = run.counted(run.latencies_s), run.sent_at or [run.began_at]
        ended_at = run.confirmed_at[-1] if run.confirmed_at else sent_at[-1]
        elapsed_s = ended_at - sent_at[0]
        # After the last order was sent, the number falls.
        counted_from = run.began_at + run.asked.skip_s
        slope = slope_of([(at, number) for at, number in run.open_at if counted_from <= at <= sent_at[-1]])
        return {
            "run": run.asked.run,
            "failure": run.failure,
            "sent": len(run.sent_at),
            "confirmed": len(run.confirmed),
            "repeated": run.repeated,
            "overtaken": run.overtaken,
            "began_at": sent_at[0],
            "ended_at": ended_at,
            "sending_s": sent_at[-1] - sent_at[0],
            "orders_s": len(run.confirmed) / elapsed_s if elapsed_s > 0 else None,
            "latency": latency_of(counted),
            "placing": latency_of(run.counted(run.placing_s)),
            "confirming": latency_of(run.counted(run.confirming_s)),
            "jitter_ms": jitter_ms(counted),
            "smoothed_jitter_ms": smoothed_jitter_ms(counted),
            "request_ms": self._requests.mean_ms(),
            "open_slope_s": slope[0] if slope else None,
            "open_slope_error_s": slope[1] if slope else None,
            "silent_s": longest_gap_s(run.counted(run.confirmed_at)),
            "seconds": by_second(run.began_at, run.confirmed_at, run.latencies_s),
        }


def _order(asked: Asked, number: int, created_at: float) -> Record:
    order_id = f"{asked.run}-{number}"
    hospital = f"hospital-{number % asked.hospitals}" if asked.hospitals else order_id
    drugs = {_DRUGS[number % len(_DRUGS)]: 1 + number % 9, _DRUGS[(number + 3) % len(_DRUGS)]: 1 + number % 4}
    return {"order_id": order_id, "key": hospital, "hospital": hospital, "drugs": drugs, "created_at": created_at}


def _read_requests(hospital: Hospital) -> None:
    for line in sys.stdin:
        told = json.loads(line)
        if "after" in told:
            say(hospital.after(told["after"]))
        else:
            hospital.ask(Asked(**told))


def place_only(options: Namespace) -> None:
    """Place orders without services, and report the rate: the script's own limit."""
    asked = Asked("only-placed", options.place_only)
    sender, began_at = Sender(options), time.time()
    for number in range(asked.orders):
        sender.send(Outgoing(PLACED_ONLY, _order(asked, number, time.time())))
    sender.flush(_PLACED_ONLY_WITHIN_S)
    say({"orders_s": asked.orders / (time.time() - began_at)})


def main() -> None:
    """Run the hospital until SIGTERM."""
    parser = options_of("hospital")
    parser.add_argument("--place-only", type=int, help="place this many orders in a topic without readers, and exit")
    options = parser.parse_args()
    if options.place_only:
        place_only(options)
        return
    hospital = Hospital(options)
    threading.Thread(target=_read_requests, args=(hospital,), daemon=True).start()
    serve(Service("hospital", hospital, options))


if __name__ == "__main__":
    main()
