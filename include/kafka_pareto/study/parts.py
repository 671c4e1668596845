"""Parts of a comparison: tables, series, grids and variants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated, Self, TypeAlias

from pydantic import Field, field_validator, model_validator

from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.section import Section

VARIANT = "variant"
"""Factor name of a part whose levels are variants."""

_PartName = Annotated[str, Field(pattern=f"^{CASE}$")]
_Published: TypeAlias = dict[str, list[float | None]]


class Table(Section):
    """Compares the levels of one factor; one level is the reference's.

    `fixed` applies to all levels. `published` maps a quantity to a number or null per level, shown next to the measured
    values and never tested.
    """

    factor: str
    levels: Annotated[list[PropertyValue], Field(min_length=2)]
    name: _PartName | None = None
    fixed: dict[str, PropertyValue] = Field(default_factory=dict)
    published: _Published = Field(default_factory=dict)

    @property
    def part(self) -> str:
        """Return the part's name: its own, else the factor's with `_` for each dot."""
        return self.name or self.factor.replace(".", "_").lower()

    @property
    def factors(self) -> dict[str, list[PropertyValue]]:
        """Map the factor to its levels."""
        return {self.factor: self.levels}

    @property
    def settings(self) -> list[dict[str, PropertyValue]]:
        """List each level's settings."""
        return [{self.factor: level} for level in self.levels]

    def only(self, kept: Sequence[int]) -> Self:
        """Return the table with only the levels at these positions."""
        return self.model_copy(
            update={"levels": [self.levels[place] for place in kept], "published": _only(self.published, kept)}
        )


class Grid(Section):
    """Compares all combinations of two factors' levels."""

    factors: dict[str, Annotated[list[PropertyValue], Field(min_length=2)]]
    name: _PartName = "grid"
    fixed: dict[str, PropertyValue] = Field(default_factory=dict)
    published: _Published = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_two(self) -> Self:
        if len(self.factors) != 2:
            raise ValueError(f"a grid has two factors; this one has {len(self.factors)}")
        return self

    @property
    def part(self) -> str:
        """Return the part's name."""
        return self.name

    @property
    def settings(self) -> list[dict[str, PropertyValue]]:
        """List each combination's settings."""
        return [dict(zip(self.factors, each, strict=True)) for each in product(*self.factors.values())]


class Series(Section):
    """Compares the levels of `factor` at each level of `along`.

    The reference is the reference's level of `factor` at the same level of `along`. `ranges` names intervals of `along`
    (from, to; the lowest first) over which levels are compared as a whole. `published` lists each quantity by level of
    `along`, then of `factor`.
    """

    factor: str
    levels: Annotated[list[PropertyValue], Field(min_length=2)]
    along: str
    at: Annotated[list[int | float], Field(min_length=2)]
    ranges: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(default_factory=dict)
    name: _PartName
    fixed: dict[str, PropertyValue] = Field(default_factory=dict)
    published: _Published = Field(default_factory=dict)

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.factor == self.along:
            raise ValueError(f"series {self.name}: along {self.along}: must differ from the compared factor")
        if sorted(set(self.at)) != self.at or self.at[0] <= 0:
            raise ValueError(f"series {self.name}: at: must rise, from above zero")
        above = 0.0
        for name, (low, high) in self.ranges.items():
            if not above < low <= high or not self.levels_within(low, high):
                raise ValueError(
                    f"series {self.name}: ranges.{name}: must begin above the range before it, end no lower than it "
                    "begins, and hold a level of at"
                )
            above = high
        return self

    @property
    def part(self) -> str:
        """Return the part's name."""
        return self.name

    @property
    def factors(self) -> dict[str, list[PropertyValue]]:
        """Map the compared factor to its levels, and the one along which they are compared to its own."""
        return {self.factor: self.levels, self.along: list(self.at)}

    @property
    def settings(self) -> list[dict[str, PropertyValue]]:
        """List each level's settings, ordered by the second factor."""
        return [{self.factor: level, self.along: place} for place in self.at for level in self.levels]

    def levels_within(self, low: float, high: float) -> list[int | float]:
        """List the levels of `along` between two values, inclusive."""
        return [place for place in self.at if low <= place <= high]


class Variants(Section):
    """Compares named variants, each a set of deviations from the reference; the empty variant is the reference.

    A variant may override `fixed`. `published` is as in `tables`. Only a soak test may have a single variant.
    """

    variants: Annotated[dict[str, dict[str, PropertyValue]], Field(min_length=1)]
    name: _PartName
    fixed: dict[str, PropertyValue] = Field(default_factory=dict)
    published: _Published = Field(default_factory=dict)

    @field_validator("variants")
    @classmethod
    def _are_named(cls, variants: dict[str, dict[str, PropertyValue]]) -> dict[str, dict[str, PropertyValue]]:
        for name in variants:
            if not re.fullmatch(CASE, name):
                raise ValueError(f"{name!r}: a variant's name has small letters, digits, _ and - only")
        return variants

    @property
    def part(self) -> str:
        """Return the part's name."""
        return self.name

    @property
    def factors(self) -> dict[str, list[PropertyValue]]:
        """Map each setting of any variant to its values there, and to the reference's where fixed."""
        names = dict.fromkeys(name for each in self.variants.values() for name in each)
        given = [self.fixed, *self.variants.values()]
        return {name: list(dict.fromkeys(each[name] for each in given if name in each)) for name in names}

    @property
    def settings(self) -> list[dict[str, PropertyValue]]:
        """List each variant's settings."""
        return list(self.variants.values())

    def only(self, kept: Sequence[int]) -> Self:
        """Return the part with only the variants at these positions."""
        names = list(self.variants)
        return self.model_copy(
            update={
                "variants": {names[place]: self.variants[names[place]] for place in kept},
                "published": _only(self.published, kept),
            }
        )


Part: TypeAlias = Table | Series | Grid | Variants


def _only(published: Mapping[str, Sequence[float | None]], kept: Sequence[int]) -> dict[str, list[float | None]]:
    return {quantity: [numbers[place] for place in kept] for quantity, numbers in published.items()}
