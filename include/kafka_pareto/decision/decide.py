"""The recommendation: which confirmed configuration, with which gains, and whether the evidence carries it. Pure.

The choice is made on one set of blocks and the gains are stated from fresh ones, so that the winner's luck is not
counted. Without enough evidence, or without a gain, the baseline stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.gains import compare, resolve
from kafka_pareto.analysis.noise_study import blocks_to_tell
from kafka_pareto.analysis.pairing import paired
from kafka_pareto.campaign.records import Outcome, Repetition
from kafka_pareto.decision.choice import Choice, missed_limits
from kafka_pareto.decision.decision import Decision, concluded
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.tune import Tune

_LOST: tuple[Outcome, ...] = ("records_lost", "records_duplicated")


def decide(
    study: Tune,
    case: str,
    choice: Choice,
    candidates: pd.DataFrame,
    *,
    choice_repetitions: Sequence[Repetition],
    gain_repetitions: Sequence[Repetition],
    rng: np.random.Generator,
) -> Decision:
    """States the chosen configuration's gains from the gain blocks alone, and what follows from them.

    Args:
        study: The campaign's study.
        case: The record size decided for.
        choice: What `choose` returned.
        candidates: `CANDIDATE_COLUMNS` and factors of this record size.
        choice_repetitions: The choice blocks' repetitions; here asked for losses and failures.
        gain_repetitions: Fresh repetitions of the chosen configuration and the baseline (none if they are the same).
        rng: For the bootstrap of the CVs.
    """
    baseline = study.baseline_configuration()
    baseline_id, chosen_id = study.baseline_id(), choice.configuration_id
    both = [*choice_repetitions, *gain_repetitions]
    chosen = None if chosen_id == baseline_id else _configuration(study, candidates, chosen_id)
    baseline_gain, chosen_gain = ([], []) if chosen is None else paired(baseline_id, chosen_id, gain_repetitions)
    compared = [] if chosen is None else study.objective_names
    gains = [compare(objective, baseline_gain, chosen_gain, study.protocol, rng) for objective in compared]
    baseline_values = {gain.objective: _or_nan(gain.baseline_value) for gain in gains}
    candidate_values = {gain.objective: _or_nan(gain.candidate_value) for gain in gains}
    variables, nearest_id = study.variables(case), choice.nearest_configuration_id
    undecided = Decision(
        case=case,
        recommended_configuration_id=baseline_id,
        baseline_configuration_id=baseline_id,
        pick_configuration_id=None if chosen is None else chosen_id,
        chosen_by=choice.chosen_by,
        choice_asked_by=study.confirmation.choose_by,
        verdict="keep_baseline_no_gain",
        baseline_properties=study.properties(baseline),
        pick_properties=None if chosen is None else study.properties(chosen),
        baseline_durability=study.durability_of(baseline).name,
        pick_durability=None if chosen is None else study.durability_of(chosen).name,
        weaker_than_baseline=chosen is not None and study.durability_of(chosen) < study.durability_of(baseline),
        nearest_configuration_id=nearest_id,
        nearest_configuration=None if nearest_id is None else _configuration(study, candidates, nearest_id),
        limits_missed=missed_limits(study.limits, candidate_values) if gains else choice.limits_missed,
        baseline_constraints_broken=[rule for rule in study.constraints if not rule.holds(baseline, variables)],
        baseline_in_forbidden=[rule for rule in study.forbidden if not rule.holds(baseline, variables)],
        baseline_limits_missed=missed_limits(study.limits, baseline_values) if gains else choice.baseline_limits_missed,
        repetitions_lost_records=0 if chosen is None else _count_of(both, chosen_id, _LOST),
        baseline_repetitions_lost_records=_count_of(both, baseline_id, _LOST),
        repetitions_failed=0 if chosen is None else _count_of(both, chosen_id, ["failed"]),
        baseline_repetitions_failed=_count_of(both, baseline_id, ["failed"]),
        generator_bound=sum(bool(r.quantities.get("generator_bound")) for r in chosen_gain),
        baseline_generator_bound=sum(bool(r.quantities.get("generator_bound")) for r in baseline_gain),
        wanted_effect_fraction=study.confirmation.wanted_effect_fraction,
        gains=gains,
        blocks_used=len(chosen_gain),
        minimum_blocks=study.confirmation.minimum_blocks,
    )
    return adjust_across_cases([undecided])[0]


def adjust_across_cases(decisions: Sequence[Decision]) -> list[Decision]:
    """Applies Holm over all objectives of all these decisions and concludes each of them anew.

    A gain that was significant within its record size may not be so among all: then the baseline stays. Decisions
    without enough blocks claim nothing, and so do not count among the comparisons.
    """
    claiming = [decision for decision in decisions if decision.has_enough_blocks]
    p_values = [_or_nan(gain.p_value) for decision in claiming for gain in decision.gains]
    adjusted = iter(paired_tests.holm(p_values))
    found = []
    for decision in decisions:
        claims = decision.has_enough_blocks
        gains = [
            resolve(gain, next(adjusted) if claims else float("nan"), decision.wanted_effect_fraction)
            for gain in decision.gains
        ]
        found.append(concluded(decision.model_copy(update={"gains": gains})))
    return found


def with_blocks_to_tell(decisions: Sequence[Decision]) -> list[Decision]:
    """Adds to every gain that these decisions leave unresolved how many blocks would tell; they are all there are."""
    claiming = [decision for decision in decisions if decision.has_enough_blocks]
    comparisons = sum(gain.p_value is not None for decision in claiming for gain in decision.gains)
    found = []
    for decision in decisions:
        gains = [
            gain.model_copy(
                update={"blocks_to_tell": blocks_to_tell(gain, decision.wanted_effect_fraction, comparisons)}
            )
            if decision in claiming and gain.resolution == "not resolved"
            else gain
            for gain in decision.gains
        ]
        found.append(decision.model_copy(update={"gains": gains}))
    return found


def _configuration(study: Tune, candidates: pd.DataFrame, chosen_id: str) -> dict[str, FactorValue]:
    row: Any = candidates[candidates.configuration_id == chosen_id].iloc[0]
    return {name: value.item() if isinstance(value := row[name], np.generic) else value for name in study.factors}


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _count_of(repetitions: Sequence[Repetition], configuration_id: str, outcomes: Sequence[Outcome]) -> int:
    return sum(r.configuration_id == configuration_id and r.outcome in outcomes for r in repetitions)
