"""Defines how a study chooses among the configurations that keep its limits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.section import Section


class Lexicographic(Section):
    """Ranks by the first objective.

    Among all within `within_fraction` of its best, the second decides, and so on.
    """

    lexicographic: Annotated[list[ObjectiveName], Field(min_length=1)]
    within_fraction: Annotated[float, Field(ge=0, lt=1)] = 0.05

    @field_validator("lexicographic")
    @classmethod
    def _each_once(cls, objectives: list[ObjectiveName]) -> list[ObjectiveName]:
        if len(set(objectives)) != len(objectives):
            raise ValueError("lists an objective twice")
        return objectives


class Weighted(Section):
    """Ranks by the sum of weighted log-gains over the baseline; the largest wins.

    With a weight of 2, halving a latency counts as much as quartering it would with a weight of 1.
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
    """Lists the objectives that an order or weights name; none for `balanced_gain` and `r1`."""
    if isinstance(criterion, Lexicographic):
        return criterion.lexicographic
    return list(criterion.weights) if isinstance(criterion, Weighted) else []
