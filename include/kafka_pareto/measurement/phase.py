"""One phase of measuring: its plan, stored repetitions, failures, and remaining time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from kafka_pareto.analysis.repetition_values import per_repetition_value
from kafka_pareto.analysis.wording import value_text
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.failure_limit import FailureLimit
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.study.declarations import label_of

log = logging.getLogger(__name__)

Block: TypeAlias = list[PlannedRepetition]
Race: TypeAlias = Callable[[Block, list[Repetition]], Block]
"""Returns what a block still measures, given the repetitions of earlier blocks; an empty result ends the phase."""


class MeasurementPhase:
    """The planned repetitions of one phase, and their store.

    Missing, failed and finished repetitions are counted from the store.

    Args:
        planned: All repetitions the phase may have, in measuring order.
        store: Of its repetitions; phases may share one.
        race: Decides before each block which repetitions are measured; without it, all are.
    """

    def __init__(self, planned: Sequence[PlannedRepetition], store: RepetitionStore, race: Race | None = None) -> None:
        self._planned = planned
        self.store = store
        self._race = race
        # Other phases have no gate that would stop their campaign.
        is_design = bool(planned) and planned[0].phase == "design"
        self._failures = FailureLimit(store, planned[0].round_number, planned[0].case) if is_design else None
        self._started = time.monotonic()
        self._measured = 0

    @property
    def may_end_early(self) -> bool:
        """Return whether the phase may end with fewer repetitions than planned."""
        return self._race is not None

    def blocks(self) -> Iterator[Block]:
        """Yield block after block; a race decides once the earlier blocks are measured.

        In order `sequential` neighbours differ in their block, so each repetition is its own block.
        """
        self._started = time.monotonic()
        for number, planned in groupby(self._planned, key=lambda repetition: repetition.block):
            block = list(planned)
            if self._race is not None:
                # Only earlier blocks, so a task killed within this block decides the same again.
                block = self._race(block, [each for each in self.store.repetitions() if each.block < number])
                if not block:
                    return
            yield block

    def missing(self, block: Block) -> Block:
        """Return the repetitions of the block that are not stored."""
        return [planned for planned in block if not self.store.holds(planned)]

    def repetitions(self) -> list[Repetition]:
        """Return the planned repetitions that are stored, by ID."""
        wanted = {planned.repetition_id for planned in self._planned}
        return [repetition for repetition in self.store.repetitions() if repetition.repetition_id in wanted]

    def require_few_failures(self) -> None:
        """Stop a campaign with more failures than the study tolerates.

        Raises:
            GateError: With a table of the failures and their reasons.
        """
        if self._failures is not None:
            self._failures.check()

    def keep(self, measured: Repetition) -> None:
        """Store a repetition just measured, and log the phase's progress.

        Raises:
            StoreError: If it cannot be stored, even after minutes of retries.
            GateError: If there are more failures now than the study tolerates.
        """
        self.store.put(measured)
        self.require_few_failures()
        self._log(measured)

    def _log(self, measured: Repetition) -> None:
        self._measured += 1
        most = "at most " if self.may_end_early else ""
        left = len(self.missing(list(self._planned)))
        left_s = (time.monotonic() - self._started) / self._measured * left
        figures: str = measured.outcome
        for mean in self.store.campaign.study.means:
            value = per_repetition_value(measured, mean, "within_run")
            figures += "" if value is None else f", {label_of(mean)} {value_text(value, mean)}"
        progress = f"{len(self._planned) - left} of {most}{len(self._planned)}"
        progress += f", {most}about {_in_words(left_s)} left" if left else ""
        log.info("[%s] %s: %s", progress, measured.repetition_id, figures)


def _in_words(seconds: float) -> str:
    """Format a time in seconds, minutes from 2 min, hours from 2 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
