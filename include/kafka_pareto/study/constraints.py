"""Constraints and forbidden regions on configurations."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from kafka_pareto.errors import did_you_mean
from kafka_pareto.study.factors import CategoricalFactor, Column, Configuration, Factor, FactorValue, is_number
from kafka_pareto.study.section import Texts

Variables: TypeAlias = Mapping[str, FactorValue]
"""Values of a case that constraints may name, like the producer's `record.size`."""


class Constraint(BaseModel):
    """Comparison of two sides, each a factor, a variable of the case or a number; candidates must satisfy it."""

    model_config = ConfigDict(frozen=True)

    left: str
    operator: str
    right: str

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """Parse one constraint."""
        match = re.fullmatch(r"\s*([\w.]+)\s*(<=|>=|==|!=|<|>)\s*([\w.]+)\s*", text)
        if match is None:
            raise ValueError(f"{text!r} is not a constraint: write it like 'batch.size >= record.size'")
        return cls(left=match[1], operator=match[2], right=match[3])

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"

    def factors_in(self, factors: Mapping[str, Factor]) -> list[str]:
        """List the factors that the constraint names."""
        return [side for side in (self.left, self.right) if side in factors]

    def check(self, factors: Mapping[str, Factor], variables: Sequence[str]) -> None:
        """Reject a constraint that is meaningless for these factors and variables."""
        for side, other in ((self.left, self.right), (self.right, self.left)):
            factor = factors.get(other)
            if isinstance(factor, CategoricalFactor):
                if self.operator not in ("==", "!=") or side not in factor.levels:
                    levels = ", ".join(factor.levels)
                    raise ValueError(f"{other} can only be compared by == or != with one of its levels {levels}")
            elif side not in factors and side not in variables and not is_number(side):
                known = " nor ".join(["a factor of this study", *variables])
                hint = did_you_mean(side, [*factors, *variables])
                raise ValueError(f"{side} is {'neither' if variables else 'not'} {known}{hint}")
        if not self.factors_in(factors):
            raise ValueError(f"{self} names no factor of this study")

    def holds(self, configuration: Configuration, variables: Variables) -> bool:
        """Return whether the configuration satisfies the constraint in this case."""
        known = {**configuration, **variables}
        left, right = (known.get(side, side) for side in (self.left, self.right))
        read = float if is_number(left) and is_number(right) else str
        return bool(_OPERATORS[self.operator](read(left), read(right)))

    def holds_for(self, columns: Mapping[str, Column], variables: Variables) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows that satisfy the constraint, given one column per factor; agrees with `holds`."""
        known = {**columns, **{name: np.array(value) for name, value in variables.items()}}
        name = self.left if self.left in columns else self.right
        if columns[name].dtype == object:
            levels = columns[name].tolist()
            answer = {level: self.holds({name: level}, variables) for level in set(levels)}
            return np.array([answer[level] for level in levels], dtype=bool)
        left, right = (known[side] if side in known else np.array(float(side)) for side in (self.left, self.right))
        held: npt.NDArray[np.bool_] = _OPERATORS[self.operator](left, right)
        return held


class ForbiddenRegion(BaseModel):
    """Constraints joined by `and`; no candidate may satisfy them all."""

    model_config = ConfigDict(frozen=True)

    constraints: tuple[Constraint, ...]

    @classmethod
    def parse(cls, text: str) -> ForbiddenRegion:
        """Parse one region."""
        return cls(constraints=tuple(Constraint.parse(part) for part in re.split(r"\s+and\s+", text)))

    def __str__(self) -> str:
        return " and ".join(map(str, self.constraints))

    def check(self, factors: Mapping[str, Factor], variables: Sequence[str]) -> None:
        """Reject a region that is meaningless for these factors and variables."""
        for constraint in self.constraints:
            constraint.check(factors, variables)

    def holds(self, configuration: Configuration, variables: Variables) -> bool:
        """Return whether the configuration is outside the region."""
        return not all(constraint.holds(configuration, variables) for constraint in self.constraints)

    def holds_for(self, columns: Mapping[str, Column], variables: Variables) -> npt.NDArray[np.bool_]:
        """Return a mask of the rows outside the region, given one column per factor."""
        inside = [constraint.holds_for(columns, variables) for constraint in self.constraints]
        outside: npt.NDArray[np.bool_] = ~np.logical_and.reduce(inside)
        return outside


Rule: TypeAlias = Constraint | ForbiddenRegion
Constraints: TypeAlias = Annotated[list[Constraint], Texts(Constraint.parse)]
ForbiddenRegions: TypeAlias = Annotated[list[ForbiddenRegion], Texts(ForbiddenRegion.parse)]
_OPERATORS = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def narrowed(
    factors: Mapping[str, Factor], constraints: Sequence[Constraint], variables: Variables
) -> dict[str, Factor]:
    """Narrow each factor by its single-factor constraints in this case; raises ValueError if nothing is left."""
    remaining = dict(factors)
    for constraint in constraints:
        names = set(constraint.factors_in(factors))
        if len(names) == 1:
            (name,) = names
            remaining[name] = remaining[name].within(
                lambda value, name=name, rule=constraint: rule.holds({name: value}, variables)  # type: ignore[misc]
            )
    return remaining


def satisfies(rules: Sequence[Rule], configuration: Configuration, variables: Variables) -> bool:
    """Return whether the configuration satisfies all rules in this case."""
    return all(rule.holds(configuration, variables) for rule in rules)
