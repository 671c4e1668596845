"""Compares the pick with another configuration, by fixed or by sequential blocks as the study asks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafka_pareto.analysis.gains import Gain, compare, compare_at_any_stop, compare_weighted
from kafka_pareto.analysis.harm import Harm, harm_of
from kafka_pareto.analysis.pairing import paired
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.stopping import weights_of_blocks
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune


def gains_over(
    study: Tune,
    other_id: str,
    pick_id: str,
    repetitions: Sequence[Repetition],
    objectives: Sequence[ObjectiveName],
    rng: np.random.Generator,
) -> list[Gain]:
    """Compares the pick with another configuration, in the blocks that have both."""
    sides = paired(other_id, pick_id, repetitions)
    by = compare_at_any_stop if study.confirmation.is_sequential else compare
    return [by(objective, *sides, study.protocol, rng) for objective in objectives]


def stated_gains(
    study: Tune,
    reference_id: str,
    pick_id: str,
    gain_repetitions: Sequence[Repetition],
    final_repetitions: Sequence[Repetition],
    rng: np.random.Generator,
) -> list[Gain]:
    """States what the pick brings, by what no claim has selected; empty without final blocks.

    Fixed blocks: by the final ones alone. Sequential ones: by all, weighted (`weights_of_blocks`).
    """
    objectives = study.objective_names
    if not study.confirmation.is_sequential:
        if not final_repetitions:
            return []
        return gains_over(study, reference_id, pick_id, final_repetitions, objectives, rng)
    sides = paired(reference_id, pick_id, [*gain_repetitions, *final_repetitions])
    final_blocks = sum(each.phase == "final" for each in sides[0])
    if not final_blocks:
        return []
    used_up = len({each.block for each in gain_repetitions}) >= study.confirmation.gain_blocks
    weights = weights_of_blocks(study, *sides, final_blocks, rng, used_up=used_up)
    return [compare_weighted(each, *sides, study.protocol, rng, weights) for each in objectives]


def harm_over(study: Tune, other_id: str, pick_id: str, repetitions: Sequence[Repetition]) -> list[Harm]:
    """Tells of each mean by how much the pick may be worse, from the blocks that have both."""
    sides = paired(other_id, pick_id, repetitions)
    return [harm_of(mean, *sides, study.protocol, study.confirmation.harm_looks()) for mean in study.means]
