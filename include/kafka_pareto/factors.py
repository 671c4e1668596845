"""A study's factors and the constraints between them: pure values, no I/O."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

FactorValue: TypeAlias = str | int | float
Configuration: TypeAlias = Mapping[str, FactorValue]
Column: TypeAlias = npt.NDArray[Any]
Positions: TypeAlias = npt.NDArray[np.float64]

RECORD_SIZE = "record.size"


class _Factor(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class CategoricalFactor(_Factor):
    """A factor with unordered levels."""

    type: Literal["categorical"]
    levels: list[str] = Field(min_length=1)

    @model_validator(mode="after")
    def _levels_are_unique(self) -> Self:
        _require_unique(self.levels)
        return self

    def at(self, position: float) -> str:
        """The value at `position` in [0, 1): each level owns an equal share."""
        return str(self.column(np.array([position]))[0])

    def column(self, positions: Positions) -> Column:
        """The values at many positions, as `at` has them."""
        return np.array(self.levels, dtype=object)[_level_indices(positions, len(self.levels))]

    def extremes(self) -> list[str]:
        """All levels: no order says which are the outermost."""
        return self.levels

    def within(self, allowed: Callable[[FactorValue], bool]) -> CategoricalFactor:
        """This factor with the allowed levels only; ValueError when none is left."""
        return self.model_copy(update={"levels": _kept(self.levels, allowed)})


class NumericFactor(_Factor):
    """A factor with ordered numbers: either `levels`, or a range `low` to `high` on a linear or log scale."""

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

    def at(self, position: float) -> int | float:
        """The value at `position` in [0, 1): equal shares of the levels, or of the range on its scale."""
        value: int | float = self.column(np.array([position])).item()
        return value

    def column(self, positions: Positions) -> Column:
        """The values at many positions, as `at` has them."""
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
        """Every level, or both ends of the range: a constraint that none of them satisfies leaves nothing."""
        return self.levels if self.levels is not None else list(self._range())

    def within(self, allowed: Callable[[FactorValue], bool]) -> NumericFactor:
        """This factor with the allowed levels only; a range shrinks to what lies between its allowed ends.

        Raises:
            ValueError: When nothing is left.
        """
        if self.levels is not None:
            return self.model_copy(update={"levels": _kept(self.levels, allowed)})
        low, high = self._range()
        grid = np.unique(self.column(np.linspace(0, 1 - 1e-12, _RANGE_RESOLUTION)))
        kept = _kept([int(v) if self.type == "integer" else float(v) for v in grid], allowed)
        ends = {"low": low if allowed(low) else kept[0], "high": high if allowed(high) else kept[-1]}
        return self.model_copy(update=ends)

    def _range(self) -> tuple[int | float, int | float]:
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high


Factor: TypeAlias = Annotated[CategoricalFactor | NumericFactor, Field(discriminator="type")]


class Constraint(BaseModel):
    """`left operator right`, each side a factor, `record.size` or a number; a candidate must satisfy it."""

    model_config = ConfigDict(frozen=True)

    left: str
    operator: str
    right: str

    @classmethod
    @cache
    def parse(cls, text: str) -> Constraint:
        """Reads one constraint.

        Raises:
            ValueError: If the text is not of the form `name <= name or number`.
        """
        match = re.fullmatch(r"\s*([\w.]+)\s*(<=|>=|==|!=|<|>)\s*([\w.]+)\s*", text)
        if match is None:
            raise ValueError(f"{text!r} is no constraint: write it like 'batch.size >= record.size'")
        return cls(left=match[1], operator=match[2], right=match[3])

    def factors_in(self, factors: Mapping[str, Factor]) -> list[str]:
        """The factors that it speaks of."""
        return [side for side in (self.left, self.right) if side in factors]

    def check(self, factors: Mapping[str, Factor]) -> None:
        """Refuses a constraint that means nothing for these factors.

        Raises:
            ValueError: If a side is unknown, or a categorical factor is compared with anything but its levels.
        """
        for side, other in ((self.left, self.right), (self.right, self.left)):
            factor = factors.get(other)
            if isinstance(factor, CategoricalFactor):
                if self.operator not in ("==", "!=") or side not in factor.levels:
                    levels = ", ".join(factor.levels)
                    raise ValueError(f"{other} can only be compared by == or != with one of its levels {levels}")
            elif side not in factors and side != RECORD_SIZE and not _is_number(side):
                near = difflib.get_close_matches(side, [*factors, RECORD_SIZE], n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise ValueError(f"{side} is neither a factor of this study nor {RECORD_SIZE}{hint}")
        if not self.factors_in(factors):
            raise ValueError(f"{self.left} {self.operator} {self.right} speaks of no factor of this study")

    def holds(self, configuration: Configuration, record_size_bytes: int) -> bool:
        """Whether the configuration satisfies it at this record size."""
        known = {**configuration, RECORD_SIZE: record_size_bytes}
        left, right = known.get(self.left, self.left), known.get(self.right, self.right)
        if _is_number(left) and _is_number(right):
            return bool(_OPERATORS[self.operator](float(left), float(right)))
        return bool(_OPERATORS[self.operator](str(left), str(right)))

    def holds_for(self, columns: Mapping[str, Column], record_size_bytes: int) -> npt.NDArray[np.bool_]:
        """Which configurations satisfy it, given as one column for each factor; as `holds` has it.

        A categorical factor has few levels and never stands beside another factor, so each level is asked once.
        """
        known = {**columns, RECORD_SIZE: np.array(record_size_bytes)}
        name = self.left if self.left in columns else self.right
        if columns[name].dtype == object:
            levels = columns[name].tolist()
            answer = {level: self.holds({name: level}, record_size_bytes) for level in set(levels)}
            return np.array([answer[level] for level in levels], dtype=bool)
        left, right = (known[side] if side in known else np.array(float(side)) for side in (self.left, self.right))
        held: npt.NDArray[np.bool_] = _OPERATORS[self.operator](left, right)
        return held


class ForbiddenRegion(BaseModel):
    """Constraints joined by `and`; no candidate may satisfy them all at once."""

    model_config = ConfigDict(frozen=True)

    constraints: tuple[Constraint, ...]

    @classmethod
    @cache
    def parse(cls, text: str) -> ForbiddenRegion:
        """Reads one region.

        Raises:
            ValueError: If a part is no constraint.
        """
        return cls(constraints=tuple(Constraint.parse(part) for part in re.split(r"\s+and\s+", text)))

    def check(self, factors: Mapping[str, Factor]) -> None:
        """Refuses a region that means nothing for these factors.

        Raises:
            ValueError: As of each of its constraints.
        """
        for constraint in self.constraints:
            constraint.check(factors)

    def holds(self, configuration: Configuration, record_size_bytes: int) -> bool:
        """Whether the configuration lies outside."""
        return not all(constraint.holds(configuration, record_size_bytes) for constraint in self.constraints)

    def holds_for(self, columns: Mapping[str, Column], record_size_bytes: int) -> npt.NDArray[np.bool_]:
        """Which configurations lie outside, given as one column for each factor."""
        inside = [constraint.holds_for(columns, record_size_bytes) for constraint in self.constraints]
        outside: npt.NDArray[np.bool_] = ~np.logical_and.reduce(inside)
        return outside


Rule: TypeAlias = Constraint | ForbiddenRegion


_OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def narrowed(
    factors: Mapping[str, Factor], constraints: Sequence[Constraint], record_size_bytes: int
) -> dict[str, Factor]:
    """The factors with what the constraints that speak of one factor alone leave of them at this record size.

    Raises:
        ValueError: If such a constraint leaves nothing.
    """
    remaining = dict(factors)
    for constraint in constraints:
        names = set(constraint.factors_in(factors))
        if len(names) == 1:
            (name,) = names
            remaining[name] = remaining[name].within(
                lambda value, name=name, rule=constraint: rule.holds({name: value}, record_size_bytes)  # type: ignore[misc]
            )
    return remaining


def configuration_id(configuration: Configuration) -> str:
    """A short name that follows from the values alone, so that equal configurations are known as equal anywhere."""
    canonical = json.dumps(dict(configuration), sort_keys=True, separators=(",", ":"))
    return "c" + hashlib.sha256(canonical.encode()).hexdigest()[:10]


def satisfies(rules: Sequence[Rule], configuration: Configuration, record_size_bytes: int) -> bool:
    """Whether the configuration keeps every rule at this record size."""
    return all(rule.holds(configuration, record_size_bytes) for rule in rules)


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


def _is_number(text: FactorValue) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
