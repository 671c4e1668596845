"""Factors, configurations and their ids."""

from __future__ import annotations

import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from kafka_pareto.study.section import Section

FactorValue: TypeAlias = str | int | float
Configuration: TypeAlias = Mapping[str, FactorValue]
Column: TypeAlias = npt.NDArray[Any]
Positions: TypeAlias = npt.NDArray[np.float64]


class _Factor(Section):
    @abstractmethod
    def column(self, positions: Positions) -> Column:
        """Return the values at many positions, like `at`."""

    def at(self, position: float) -> Any:
        """Return the value at `position` in [0, 1): equal shares of the levels, or of the range on its scale."""
        return self.column(np.array([position])).item()


class CategoricalFactor(_Factor):
    """A factor with unordered levels."""

    type: Literal["categorical"]
    levels: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _levels_are_unique(self) -> Self:
        _require_unique(self.levels)
        return self

    def column(self, positions: Positions) -> Column:
        """Return the values at many positions, like `at`."""
        return np.array(self.levels, dtype=object)[_level_indices(positions, len(self.levels))]

    def extremes(self) -> list[str]:
        """List all levels, since they have no order."""
        return self.levels

    def within(self, allowed: Callable[[FactorValue], bool]) -> CategoricalFactor:
        """Return this factor with the allowed levels only; raises ValueError if none is left."""
        return self.model_copy(update={"levels": _kept(self.levels, allowed)})


class NumericFactor(_Factor):
    """A factor with `levels`, or a range `low` to `high` on a linear or log scale."""

    type: Literal["integer", "float"]
    levels: list[int | float] | None = Field(default=None, min_length=1)
    low: int | float | None = None
    high: int | float | None = None
    scale: Literal["linear", "log"] = "linear"

    @model_validator(mode="after")
    def _levels_or_range(self) -> Self:
        bounded = self.low is not None and self.high is not None
        if (self.levels is None) != bounded or (self.levels is not None and (self.low, self.high) != (None, None)):
            raise ValueError("needs either levels, or both low and high")
        numbers = self.levels if self.levels is not None else [self.low, self.high]
        if self.type == "integer" and any(isinstance(number, float) for number in numbers):
            raise ValueError("an integer factor takes whole numbers only")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError("low must be below high")
        if self.scale == "log" and min(number for number in numbers if number is not None) <= 0:
            raise ValueError("a log scale needs numbers above zero")
        _require_unique(self.levels or [])
        return self

    def column(self, positions: Positions) -> Column:
        """Return the values at many positions, like `at`."""
        if self.levels is not None:
            return np.array(self.levels)[_level_indices(positions, len(self.levels))]
        low, high = self._range()
        if self.type == "integer" and self.scale == "linear":
            return int(low) + _level_indices(positions, int(high) - int(low) + 1)
        if self.scale == "log":
            values = np.exp(math.log(low) + positions * (math.log(high) - math.log(low)))
        else:
            values = low + positions * (high - low)
        return np.rint(values).astype(np.int64) if self.type == "integer" else values

    def extremes(self) -> list[int | float]:
        """List every level, or both ends of the range."""
        return self.levels if self.levels is not None else list(self._range())

    def within(self, allowed: Callable[[FactorValue], bool]) -> NumericFactor:
        """Return this factor with the allowed levels, or its range shrunk to them; raises ValueError without any."""
        if self.levels is not None:
            return self.model_copy(update={"levels": _kept(self.levels, allowed)})
        low, high = self._range()
        grid = np.unique(self.column(np.linspace(0, 1 - 1e-12, _RANGE_RESOLUTION)))
        kept = _kept([int(v) if self.type == "integer" else float(v) for v in grid], allowed)
        ends = {"low": low if allowed(low) else kept[0], "high": high if allowed(high) else kept[-1]}
        return self.model_copy(update=ends)

    def _range(self) -> tuple[int | float, int | float]:
        return cast("tuple[int | float, int | float]", (self.low, self.high))


Factor: TypeAlias = Annotated[CategoricalFactor | NumericFactor, Field(discriminator="type")]


def configuration_id(configuration: Configuration) -> str:
    """Return a short id computed from the values alone, so equal configurations have equal ids everywhere."""
    canonical = json.dumps(dict(configuration), sort_keys=True, separators=(",", ":"))
    return "c" + hashlib.sha256(canonical.encode()).hexdigest()[:10]


def distinct(configurations: Iterable[Configuration]) -> list[Configuration]:
    """Return the distinct configurations in order of first appearance."""
    return list({configuration_id(each): each for each in configurations}.values())


_RANGE_RESOLUTION = 4096
_Level = TypeVar("_Level", bound=FactorValue)


def _kept(levels: list[_Level], allowed: Callable[[FactorValue], bool]) -> list[_Level]:
    kept = [level for level in levels if allowed(level)]
    if not kept:
        raise ValueError("no level satisfies the constraints")
    return kept


def _level_indices(positions: Positions, count: int) -> npt.NDArray[np.int64]:
    return np.clip((positions * count).astype(np.int64), 0, count - 1)


def _require_unique(levels: Sequence[FactorValue]) -> None:
    if len(set(levels)) != len(levels):
        raise ValueError("a level is listed twice")


def is_number(text: FactorValue) -> bool:
    """Return whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
