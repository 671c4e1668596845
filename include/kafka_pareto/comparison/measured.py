"""The measured values of a part, by level and block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kafka_pareto.analysis.level_tests import Mean
from kafka_pareto.analysis.ratios import ByBlock, Ratio
from kafka_pareto.analysis.repetition_values import valid_by_block
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.records import Interval
from kafka_pareto.study.factors import Configuration, FactorValue


def interval_of(found: Mean | Ratio) -> Interval | None:
    """Convert a statistic to its stored form; None without a value."""
    if not math.isfinite(found.value):
        return None
    return Interval(value=found.value, low=known(found.low), high=known(found.high))


def known(value: float) -> float | None:
    """Map NaN and infinity to None."""
    return value if math.isfinite(value) else None


class PlannedLevel(NamedTuple):
    """A configuration that a part measures; for a variant, a named one with the settings in `sets`."""

    configuration_id: str
    configuration: Configuration
    is_reference: bool
    sets: Configuration | None = None


@dataclass(frozen=True)
class Measured:
    """The values of a part's valid repetitions.

    Attributes:
        along: The factor that a series runs along; empty for other parts.
        repetitions: With any outcome.
    """

    planned: Sequence[PlannedLevel]
    factors: Sequence[str]
    repetitions: Sequence[Repetition]
    along: str = ""

    @cached_property
    def valid(self) -> dict[str, dict[int, Repetition]]:
        """Return the valid repetitions by configuration id and block."""
        return valid_by_block(self.repetitions)

    @property
    def reference(self) -> PlannedLevel:
        """Return the reference level."""
        return next(each for each in self.planned if each.is_reference)

    def groups(self) -> list[list[PlannedLevel]]:
        """Group the levels that are compared with each other: all of them, or for a series those at each point."""
        if not self.along:
            return [list(self.planned)]
        found: dict[FactorValue, list[PlannedLevel]] = {}
        for each in self.planned:
            found.setdefault(each.configuration[self.along], []).append(each)
        return list(found.values())

    def in_block_order(self, level: PlannedLevel) -> list[Repetition]:
        """List a level's valid repetitions."""
        by_block = self.valid.get(level.configuration_id, {})
        return [by_block[block] for block in sorted(by_block)]

    def numbers(self, level: PlannedLevel, quantity: str) -> ByBlock:
        """Return a quantity by block, for the repetitions that have it."""
        found = {each.block: each.quantities.get(quantity) for each in self.in_block_order(level)}
        return {
            block: float(value)
            for block, value in found.items()
            if isinstance(value, (int, float)) and math.isfinite(value)
        }

    def by_level_of(self, factor: str, quantity: str) -> dict[int | float, ByBlock]:
        """Return a quantity by level of a numeric factor, and by block.

        Raises:
            ValueError: If a level is not a number.
        """
        found: dict[int | float, ByBlock] = {}
        for level in self.planned:
            value = level.configuration[factor]
            if isinstance(value, str):
                raise ValueError(f"{factor} {value!r}: a curve needs levels that are numbers")
            found[value] = self.numbers(level, quantity)
        return found
