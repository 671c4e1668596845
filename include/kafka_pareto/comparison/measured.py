"""The measured values of a part, by level and block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kafka_pareto.analysis.ratios import ByBlock
from kafka_pareto.analysis.repetition_values import valid_by_block
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.factors import Configuration, FactorValue


class PlannedLevel(NamedTuple):
    """A configuration that a part measures; for a variant, a named one with the settings in `sets`."""

    configuration_id: str
    configuration: Configuration
    is_reference: bool
    sets: Configuration | None = None


class Measured:
    """The values of a part's valid repetitions.

    Attributes:
        along: The factor that a series runs along; empty for other parts.
        repetitions: With any outcome.
        valid: By configuration id and block.
    """

    def __init__(
        self,
        planned: Sequence[PlannedLevel],
        factors: Sequence[str],
        repetitions: Sequence[Repetition],
        along: str = "",
    ) -> None:
        self.along = along
        self.planned = planned
        self.factors = factors
        self.repetitions = repetitions
        self.valid = valid_by_block(repetitions)

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

    def values_of(self, level: PlannedLevel) -> dict[str, FactorValue]:
        """Return a level's value of each varied factor."""
        return {factor: level.configuration[factor] for factor in self.factors}

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
