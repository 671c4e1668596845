"""Reads an objective's value from one repetition. A leaf, for all that compare repetitions."""

from __future__ import annotations

from typing import Literal

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.drivers import objective_named
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import Protocol

Variability = Literal["across_repetitions", "within_run"]


def smallest_value(objective: ObjectiveName, protocol: Protocol) -> float:
    """Returns the value that ratios use for a measured 0, which means less than half of the tool's resolution.

    It is 0 where the tool shows every difference.
    """
    resolution = objective_named(objective).quantity.resolution
    return resolution(protocol) / 2 if resolution else 0.0


def per_repetition_value(repetition: Repetition, objective: ObjectiveName, variability: Variability) -> float | None:
    """Returns the objective's value in one repetition.

    Returns:
        None where the repetition measured none, and for a CV that is defined across repetitions: a single one has no
        share in it.
    """
    declared = objective_named(objective)
    if declared.spread_of and variability == "across_repetitions":
        return None
    return repetition.number(declared.quantity.name)


def is_mean(objective: ObjectiveName, variability: Variability) -> bool:
    """Tells whether a trial's objective is the mean of its repetitions' values; else it is a CV across them."""
    return variability == "within_run" or not objective_named(objective).spread_of


def spread_of(objective: ObjectiveName) -> ObjectiveName:
    """Returns the objective whose values a CV across repetitions is computed from; for a mean, the mean itself."""
    return objective_named(objective).spread_of or objective
