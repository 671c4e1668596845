"""How far a phase of the measuring is, in a task's log."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.repetition_store import Shelf

log = logging.getLogger(__name__)


class PhaseProgress:
    """Says how far a phase is, and how long the rest may take at the present pace.

    Args:
        planned: All that the phase may come to.
        may_end_early: Whether it may come to less, since adaptive trials stop.
    """

    def __init__(self, planned: Sequence[PlannedRepetition], *, may_end_early: bool = False) -> None:
        self._planned = planned
        self._most = "at most " if may_end_early else ""
        self._started = time.monotonic()
        self._measured = 0

    def log(self, measured: Repetition, shelf: Shelf) -> None:
        """Logs a repetition that was just measured, and what is left."""
        self._measured += 1
        done = sum(shelf.holds(repetition) for repetition in self._planned)
        left_s = (time.monotonic() - self._started) / self._measured * (len(self._planned) - done)
        figures: str = measured.outcome
        if measured.throughput_mib_s is not None and measured.latency_p95_ms is not None:
            figures += f", {measured.throughput_mib_s:.1f} MiB/s, p95 {measured.latency_p95_ms:.0f} ms"
        progress = f"{done} of {self._most}{len(self._planned)}, {self._most}{left_s:.0f} s left"
        log.info("[%s] %s: %s", progress, measured.repetition_id, figures)
