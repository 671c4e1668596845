"""Run the pipeline that follows a log: a shipper, an aggregator, and Spark, which loads a topic into a Hive table."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import pairwise
from typing import Protocol

import pandas as pd

from kafka_pareto.brokers.processes import Opened
from kafka_pareto.drivers.common.child_process import READY, ChildProcess
from kafka_pareto.drivers.log_pipeline.growing_file import GrowingFile
from kafka_pareto.drivers.log_pipeline.programs import READY_S
from kafka_pareto.drivers.log_pipeline.warehouse import Batch, Warehouse, read_batches
from kafka_pareto.errors import LoadToolError

_STOP_S = 120.0
_LOOK_S = 0.2
_QUIET_S = 2.5
_SILENT_S = 30.0
_MS = 1e3
PARTS = ("filebeat", "aggregator", "spark")
"""Parts in the order in which events pass them; `filebeat` stands for either shipper."""


class PartEndedError(LoadToolError):
    """Raised when a part ends unexpectedly or does not stop cleanly."""


class Shipping(Protocol):
    """A shipper that follows the log, and the aggregator it sends to."""

    @property
    def batching_ms(self) -> int:
        """Return how long both may hold an event to batch it with others."""

    @property
    def poll_pause_ms(self) -> int:
        """Return the shipper's longest interval between polls of an idle log."""

    def start_aggregator(self) -> ChildProcess:
        """Start the aggregator and wait until it is ready; after a restart it listens on the same port."""

    def start_shipper(self) -> ChildProcess:
        """Start the shipper, which resumes at the last position; it may not be reading yet."""


class Pipeline(Opened):
    """Context in which the parts follow a log into an existing topic; the warehouse's folder is created here."""

    def __init__(self, shipping: Shipping, warehouse: Warehouse) -> None:
        self._shipping = shipping
        self._warehouse = warehouse
        self._batches_file = GrowingFile(warehouse.batches_file)
        self._window_began_s = time.time()
        self._children: dict[str, ChildProcess] = {}

    def _open(self, opened: ExitStack) -> None:
        opened.callback(self._close)
        self._warehouse.folder.mkdir()
        self.start("spark")
        self.start("aggregator")
        self._children["spark"].next_line(READY, READY_S)
        self.start("filebeat")
        self._window_began_s = time.time()

    @property
    def pids(self) -> dict[str, int]:
        """Map the running parts to their process ids."""
        return {name: each.pid for name, each in self._children.items() if each.exit_code is None}

    def start(self, name: str) -> None:
        """Start a part, or restart one that has ended."""
        if name in self._children:
            self._children[name].close()
        match name:
            case "spark":
                self._children[name] = ChildProcess("Spark", self._warehouse.argv, self._warehouse.environment)
            case "aggregator":
                self._children[name] = self._shipping.start_aggregator()
            case _:
                self._children[name] = self._shipping.start_shipper()

    def kill(self, name: str) -> None:
        """Kill a part with SIGKILL."""
        self._children[name].kill()

    def committed(self) -> int:
        """Return the window's number of rows in Hive, from Spark's record of batches, which survives a kill."""
        return sum(batch.rows for batch in self._batches().values())

    @property
    def batching_s(self) -> float:
        """Return how long the parts may hold an event, after the shipper read it, to batch it with others."""
        return (self._shipping.batching_ms + self._warehouse.trigger_ms) / _MS

    @property
    def quiet_s(self) -> float:
        """Return how long arrivals must pause to assume no rows in flight."""
        return max(_QUIET_S, self.batching_s + self._warehouse.trigger_ms / _MS)

    def wait_until_committed(self, rows: int, seconds: float, meanwhile: Callable[[], None]) -> bool:
        """Wait until Hive has this many rows, even if more are in flight; return whether it had them in time.

        `meanwhile` is called repeatedly until then; it must take some time.
        """
        deadline = time.monotonic() + seconds
        while self.committed() < rows:
            self.require_running()
            if time.monotonic() > deadline:
                return False
            meanwhile()
        return True

    def wait_until_idle(self, rows: int, seconds: float, on_commit: Callable[[], None] = lambda: None) -> bool:
        """Wait until Hive has this many rows and no more arrive; return whether it happened in time.

        Rows may be duplicates while others are still in flight, so arrivals must pause for at least as long as the
        parts may hold an event. Send no requests during the wait. `on_commit` is called at the beginning and whenever
        rows have arrived.
        """
        now_s = time.monotonic()
        deadline, quiet_since, known = now_s + seconds, now_s, -1
        while True:
            self.require_running()
            now_s = time.monotonic()
            if (committed := self.committed()) != known:
                known, quiet_since = committed, now_s
                on_commit()
            if committed >= rows and now_s - quiet_since >= self.quiet_s:
                return True
            if now_s > deadline:
                return False
            time.sleep(_LOOK_S)

    def is_moving(self, now_s: float) -> bool:
        """Return whether events may be in flight, judging by the last commit and the intervals before it.

        Before the first commit, judge by the beginning of the window. `now_s` is in seconds since 1970.
        """
        commits_s = sorted(batch.t7_ms / _MS for batch in self._batches().values())
        last_s = commits_s[-1] if commits_s else self._window_began_s
        longest_s = max((after - before for before, after in pairwise(commits_s)), default=0.0)
        delay_s = (self._shipping.poll_pause_ms + self._warehouse.trigger_ms) / _MS + self.batching_s
        return now_s - last_s < max(_SILENT_S, 2 * longest_s, delay_s)

    def require_running(self) -> None:
        """Check that all parts run.

        Raises:
            PartEndedError: If one has ended, with its last output.
        """
        try:
            for child in self._children.values():
                child.require_running()
        except LoadToolError as error:
            raise PartEndedError(str(error)) from error

    def end(self, *, is_done: bool = True) -> tuple[pd.DataFrame, Mapping[int, int]]:
        """Stop the parts in the order in which events pass them; return Hive's table and each batch's commit time.

        If the parts are not done, those before Spark are killed, and events in flight are dropped.

        Raises:
            PartEndedError: If one does not stop cleanly, or Spark exports fewer rows than it has committed.
        """
        for name in PARTS:
            child = self._children[name]
            if not is_done and name != "spark":
                child.kill()
                continue
            child.ask_to_end()
            if name == "spark":
                try:
                    child.next_line("exported", _STOP_S)
                except LoadToolError as error:
                    raise PartEndedError(f"Hive's table was not exported: {error}") from error
            code = child.wait(_STOP_S)
            if code is None:
                raise PartEndedError(f"{child.name} did not stop within {_STOP_S:g} s: {child.last_words()}")
            if code:
                raise PartEndedError(f"{child.name} ended with exit code {code}: {child.last_words()}")
        return _whole(self._warehouse.exported_rows(), self._batches())

    def end_window(self) -> tuple[pd.DataFrame, Mapping[int, int]]:
        """Return the rows committed in the window, and each batch's commit time; begin the next one.

        Raises:
            PartEndedError: If the table has fewer rows than Spark has committed.
        """
        batches = self._batches()
        found = _whole(self._warehouse.committed_rows(batches), batches)
        self._batches_file.begin_window()
        self._window_began_s = time.time()
        return found

    def _batches(self) -> dict[int, Batch]:
        return read_batches(self._batches_file)

    def _close(self) -> None:
        for child in self._children.values():
            child.close()


def _whole(table: pd.DataFrame, batches: Mapping[int, Batch]) -> tuple[pd.DataFrame, Mapping[int, int]]:
    """Return the table and each batch's commit time; raise PartEndedError if rows are missing."""
    committed = sum(batch.rows for batch in batches.values())
    # The table may have more rows: a batch written but not yet recorded when Spark was killed.
    if len(table) < committed:
        raise PartEndedError(f"Hive's table has {len(table)} of the {committed} rows that Spark had committed")
    return table, {number: batch.t7_ms for number, batch in batches.items()}
