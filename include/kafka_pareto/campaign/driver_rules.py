"""Finds what a study's driver brings to the rules of its suite file: derived values, and what the `$…` stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_pareto.campaign import producer_plausibility
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.producer import PRODUCER
from kafka_pareto.study.study import Study


@dataclass(frozen=True)
class DriverRules:
    """Holds what a driver's own rules need beside a repetition's values.

    Attributes:
        parameters: Returns what the `$…` of the driver's rules stand for in a study.
        derived_values: Returns what follows from a repetition's values, for rules that compare two of them; NaN where
            one is missing.
    """

    parameters: Callable[[Study], Mapping[str, object]]
    derived_values: Callable[[Repetition, Study], Mapping[str, float]]


RULES = {PRODUCER.name: DriverRules(producer_plausibility.parameters, producer_plausibility.derived_values)}


def rules_of(study: Study) -> DriverRules:
    """Returns what the study's driver brings."""
    return RULES[study.declaration.name]
