"""Read an objective's value from one repetition, and pair repetitions by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kafka_pareto.analysis.rounding import has_spread
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.declarations import objective_named
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import Protocol

Variability = Literal["across_repetitions", "within_run"]


def smallest_value(objective: ObjectiveName, protocol: Protocol) -> float:
    """Return the substitute for a measured 0 in ratios: half of the tool's resolution, if it has one, else 0."""
    resolution = objective_named(objective).quantity.resolution
    return resolution(protocol) / 2 if resolution else 0.0


def per_repetition_value(repetition: Repetition, objective: ObjectiveName, variability: Variability) -> float | None:
    """Return the objective's value in one repetition; None if not measured, or for a CV defined across repetitions."""
    declared = objective_named(objective)
    if declared.spread_of and variability == "across_repetitions":
        return None
    return repetition.number(declared.quantity.name)


def is_mean(objective: ObjectiveName, variability: Variability) -> bool:
    """Return whether a trial's objective is the mean of its repetitions' values; else it is a CV across them."""
    return variability == "within_run" or not objective_named(objective).spread_of


def spread_of(objective: ObjectiveName) -> ObjectiveName:
    """Return the objective whose values a CV across repetitions is computed from; for a mean, the mean itself."""
    return objective_named(objective).spread_of or objective


def valid_by_block(repetitions: Sequence[Repetition]) -> dict[str, dict[int, Repetition]]:
    """Map configuration id and block to the valid repetition."""
    found: dict[str, dict[int, Repetition]] = {}
    for repetition in repetitions:
        if repetition.outcome == "valid":
            found.setdefault(repetition.configuration_id, {})[repetition.block] = repetition
    return found


def paired(
    baseline_id: str, chosen_id: str, repetitions: Sequence[Repetition]
) -> tuple[list[Repetition], list[Repetition]]:
    """Return valid repetitions of both configurations, in the blocks that have both."""
    valid = valid_by_block(repetitions)
    baseline, chosen = valid.get(baseline_id, {}), valid.get(chosen_id, {})
    blocks = sorted(baseline.keys() & chosen.keys())
    return [baseline[block] for block in blocks], [chosen[block] for block in blocks]


def coefficient_of_variation(values: np.ndarray) -> float:
    """Return the standard deviation (n-1) over the mean: 0 if the values differ only by rounding.

    NaN for fewer than two values and for a mean of zero.
    """
    if len(values) < 2 or not np.mean(values):
        return float("nan")
    return float(np.std(values, ddof=1) / np.mean(values)) if has_spread(values) else 0.0
