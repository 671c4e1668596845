"""What is wanted of a configuration: the objectives, hard limits on them, and how to choose among what keeps them."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, field_validator

from kafka_pareto.protocol import Section

Objective = Literal["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"]
OBJECTIVES: tuple[Objective, ...] = ("p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv")
Amount = TypeVar("Amount", float, npt.NDArray[np.float64])
MEANS: tuple[Objective, ...] = ("p95_latency_ms", "throughput_mib_s")
"""What every configuration is judged by first: a repetition measures them well, and the CVs hardly."""
MAXIMISED: frozenset[Objective] = frozenset({"throughput_mib_s"})


class Limit(BaseModel):
    """A bound that an objective must keep, like `p95_latency_ms <= 50`; the baseline is exempt."""

    model_config = ConfigDict(frozen=True)

    objective: Objective
    bound: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Reads one limit.

        Raises:
            ValueError: If it is not of the form `objective <= number`, or bounds the objective on its good side.
        """
        match = re.fullmatch(r"\s*(\w+)\s*(<=|>=)\s*([0-9.eE+-]+)\s*", text)
        if match is None or not _is_number(match[3]):
            raise ValueError(f"{text!r} is no limit: write it like 'p95_latency_ms <= 50'")
        name = next((objective for objective in OBJECTIVES if objective == match[1]), None)
        if name is None:
            near = difflib.get_close_matches(match[1], OBJECTIVES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"{match[1]} is no objective; there are {', '.join(OBJECTIVES)}{hint}")
        wanted = ">=" if name in MAXIMISED else "<="
        if match[2] != wanted or float(match[3]) <= 0:
            raise ValueError(f"{text!r}: a limit on {name} reads '{name} {wanted} <a number above 0>'")
        return cls(objective=name, bound=float(match[3]))

    def excess_fraction(self, value: Amount) -> Amount:
        """By which share of the bound the value misses it; 0 or below where it keeps it, NaN where it is not known."""
        excess: Amount = (value - self.bound) / self.bound
        return -excess if self.objective in MAXIMISED else excess

    def __str__(self) -> str:
        return f"{self.objective} {'>=' if self.objective in MAXIMISED else '<='} {self.bound:g}"


class Lexicographic(Section):
    """The first objective decides; among all within `within_fraction` of its best, the second does, and so on."""

    lexicographic: Annotated[list[Objective], Field(min_length=1)]
    within_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.05

    @field_validator("lexicographic")
    @classmethod
    def _each_once(cls, objectives: list[Objective]) -> list[Objective]:
        if len(set(objectives)) != len(objectives):
            raise ValueError("lists an objective twice")
        return objectives


class Weighted(Section):
    """The largest sum of weighted log-gains over the baseline: a weight of 2 counts a halved latency as a quartered."""

    weights: Annotated[dict[Objective, Annotated[float, Field(gt=0)]], Field(min_length=1)]


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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
