"""What one repetition says about an objective. A leaf, for all that compare repetitions."""

from __future__ import annotations

from typing import Literal

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.driver import objective_named
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.protocol import Protocol

Variability = Literal["across_repetitions", "within_run"]

_LATENCY_RESOLUTION_MS = {"kafka_perf_test": 1.0, "load_generator": 0.001}


def latency_resolution_ms(protocol: Protocol) -> float:
    """What the study's load tool tells apart: Kafka's prints whole milliseconds, the load generator measures µs."""
    return _LATENCY_RESOLUTION_MS[protocol.load_tool]


def smallest_latency_ms(protocol: Protocol) -> float:
    """What a printed latency of 0 is taken for where ratios are asked: it means less than half of the resolution."""
    return latency_resolution_ms(protocol) / 2


def per_repetition_value(repetition: Repetition, objective: ObjectiveName, variability: Variability) -> float | None:
    """The objective's value in one repetition.

    Returns:
        None where the repetition measured none, and for a CV that is defined across repetitions: a single one has no
        share in it.
    """
    declared = objective_named(objective)
    if declared.spread_of and variability == "across_repetitions":
        return None
    value: float | None = getattr(repetition, declared.quantity)
    return value


def is_mean(objective: ObjectiveName, variability: Variability) -> bool:
    """Whether the objective of a trial is the mean of its repetitions' values; else it is a CV across them."""
    return variability == "within_run" or not objective_named(objective).spread_of


def spread_of(objective: ObjectiveName) -> ObjectiveName:
    """The objective whose values a CV across repetitions is taken of; a mean's own."""
    return objective_named(objective).spread_of or objective
