"""Compares the pick with another configuration, in the blocks that have both. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.analysis.gains import Gain, compare
from kafka_pareto.analysis.pairing import paired
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune


def gains_over(
    study: Tune, other_id: str, pick_id: str, repetitions: Sequence[Repetition], objectives: Sequence[ObjectiveName]
) -> list[Gain]:
    """Compares the pick with another configuration in each of the objectives."""
    sides = paired(other_id, pick_id, repetitions)
    return [compare(objective, *sides, study) for objective in objectives]
