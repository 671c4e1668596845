"""Objective names, limits on objectives, and choice criteria."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

from kafka_pareto.errors import did_you_mean
from kafka_pareto.study.declarations import all_objectives, is_maximised
from kafka_pareto.study.factors import is_number
from kafka_pareto.study.section import Section, Texts


def _names() -> list[str]:
    return [each.name for each in all_objectives()]


def _objective(name: str) -> str:
    known = _names()
    if name not in known:
        raise ValueError(
            f"{name} is not an objective; the objectives are {', '.join(known)}{did_you_mean(name, known)}"
        )
    return name


ObjectiveName: TypeAlias = Annotated[
    str, AfterValidator(_objective), Field(json_schema_extra=lambda schema: schema.update(enum=_names()))
]
"""Name of any driver's objective, validated."""
Amount = TypeVar("Amount", float, npt.NDArray[np.float64])


def _exact(number: float) -> str:
    brief = f"{number:g}"
    return brief if float(brief) == number else repr(number)


class Limit(BaseModel):
    """Bounds an objective, like `p95_latency_ms <= 50`; the baseline is exempt."""

    model_config = ConfigDict(frozen=True)

    objective: ObjectiveName
    bound: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Parse one limit."""
        match = re.fullmatch(r"\s*(\w+)\s*(<=|>=)\s*([0-9.eE+-]+)\s*", text)
        if match is None or not is_number(match[3]):
            raise ValueError(f"{text!r} is not a limit: write it like 'p95_latency_ms <= 50'")
        name = _objective(match[1])
        wanted = ">=" if is_maximised(name) else "<="
        if match[2] != wanted or float(match[3]) <= 0:
            raise ValueError(f"{text!r}: a limit on {name} reads '{name} {wanted} <a number above 0>'")
        return cls(objective=name, bound=float(match[3]))

    def excess_fraction(self, value: Amount) -> Amount:
        """Return the excess as a share of the bound: at most 0 if the limit is met, NaN for an unknown value."""
        excess: Amount = (value - self.bound) / self.bound
        return -excess if is_maximised(self.objective) else excess

    def __str__(self) -> str:
        return f"{self.objective} {'>=' if is_maximised(self.objective) else '<='} {_exact(self.bound)}"


Limits: TypeAlias = Annotated[list[Limit], Texts(Limit.parse)]


class Condition(BaseModel):
    """Bounds a candidate's objective, like `throughput_mib_s > 40`, or its ratio to the reference's.

    `p95_latency_ms < 1.05 * reference` bounds the ratio by 1.05.
    """

    model_config = ConfigDict(frozen=True)

    objective: ObjectiveName
    bound: float
    of_reference: bool

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse one condition."""
        match = re.fullmatch(
            r"\s*(\w+)\s*([<>])\s*(?:([0-9.eE+-]+)(\s*\*\s*reference)?|(reference))\s*", text, re.ASCII
        )
        if match is None or not is_number(match[3] or 1):
            raise ValueError(
                f"{text!r} is not a condition: write it like 'p95_latency_ms < 1.05 * reference' or "
                "'throughput_mib_s > 40'"
            )
        name = _objective(match[1])
        bound, wanted = float(match[3] or 1), ">" if is_maximised(name) else "<"
        if match[2] != wanted or not 0 < bound < math.inf:
            raise ValueError(f"{text!r}: a condition on {name} reads '{name} {wanted} <a number above 0>'")
        return cls(objective=name, bound=bound, of_reference=bool(match[4] or match[5]))

    def __str__(self) -> str:
        sign = ">" if is_maximised(self.objective) else "<"
        return f"{self.objective} {sign} {_exact(self.bound)}{' * reference' if self.of_reference else ''}"


Conditions: TypeAlias = Annotated[list[Condition], Texts(Condition.parse)]


class Lexicographic(Section):
    """Ranks by the first objective; among all within `within_fraction` of its best, by the second, and so on."""

    lexicographic: Annotated[list[ObjectiveName], Field(min_length=1)]
    within_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.05

    @field_validator("lexicographic")
    @classmethod
    def _each_once(cls, objectives: list[ObjectiveName]) -> list[ObjectiveName]:
        if len(set(objectives)) != len(objectives):
            raise ValueError("lists an objective twice")
        return objectives


class Weighted(Section):
    """Ranks by the largest sum of weighted log-gains over the baseline.

    With weight 2, halving a latency counts as much as quartering it with weight 1.
    """

    weights: Annotated[dict[ObjectiveName, Annotated[float, Field(gt=0)]], Field(min_length=1)]


def _choice_kind(given: Any) -> str | None:
    if isinstance(given, str):
        return "choose_by_name"
    if isinstance(given, Lexicographic) or (isinstance(given, dict) and "lexicographic" in given):
        return "choose_by_order"
    if isinstance(given, Weighted) or (isinstance(given, dict) and "weights" in given):
        return "choose_by_weights"
    return None


ChooseBy = Annotated[
    Annotated[Literal["balanced_gain", "r1"], Tag("choose_by_name")]
    | Annotated[Lexicographic, Tag("choose_by_order")]
    | Annotated[Weighted, Tag("choose_by_weights")],
    Discriminator(
        _choice_kind,
        custom_error_type="choose_by",
        custom_error_message="must be balanced_gain, r1, {lexicographic: [objective, …]} or {weights: {objective: …}}",
    ),
]


def objectives_named(criterion: ChooseBy) -> list[ObjectiveName]:
    """List the objectives in an order or weights; none for `balanced_gain` and `r1`."""
    if isinstance(criterion, Lexicographic):
        return criterion.lexicographic
    return list(criterion.weights) if isinstance(criterion, Weighted) else []
