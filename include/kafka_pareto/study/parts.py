"""Defines the parts of a comparison: a table sets levels of one factor beside each other, a grid those of two."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from kafka_pareto.kafka.producer_config import PropertyValue
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.section import Section

_PartName = Annotated[str, Field(pattern=f"^{CASE}$")]


class Table(Section):
    """Sets the levels of one factor beside each other, one of which is the reference's.

    `fixed` is set at all of its levels, the reference included. `published` has for each quantity a number for each
    level, or null: it is shown beside what was measured, and has no part in any test.
    """

    factor: str
    levels: Annotated[list[PropertyValue], Field(min_length=2)]
    name: _PartName | None = None
    fixed: dict[str, PropertyValue] = Field(default_factory=dict)
    published: dict[str, list[float | None]] = Field(default_factory=dict)

    @property
    def part(self) -> str:
        """Returns the part's name: its own, else the factor's with `_` for each dot."""
        return self.name or self.factor.replace(".", "_").lower()

    @property
    def factors(self) -> dict[str, list[PropertyValue]]:
        """Maps the one factor to its levels."""
        return {self.factor: self.levels}


class Grid(Section):
    """Sets all combinations of two factors' levels beside each other."""

    factors: dict[str, Annotated[list[PropertyValue], Field(min_length=2)]]
    name: _PartName = "grid"
    fixed: dict[str, PropertyValue] = Field(default_factory=dict)
    published: dict[str, list[float | None]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_two(self) -> Self:
        if len(self.factors) != 2:
            raise ValueError(f"a grid has two factors; this one has {len(self.factors)}")
        return self

    @property
    def part(self) -> str:
        """Returns the part's name."""
        return self.name
