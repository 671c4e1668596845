"""The recommendation: which confirmed configuration, with which gains, and whether the evidence carries it. Pure.

The choice is made on one set of blocks, the claim on fresh ones, and what is promised is stated from later ones, so
that no selection's luck is counted. Without enough evidence, or without a gain, what is in force stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.gains import CAUTION_ABOUT_CVS, Gain, resolve
from kafka_pareto.analysis.noise_study import blocks_to_tell
from kafka_pareto.analysis.pairing import paired
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.choice import Choice, missed_limits
from kafka_pareto.decision.comparing import gains_over, harm_over, stated_gains
from kafka_pareto.decision.counts import counts_of
from kafka_pareto.decision.decision import Decision, concluded
from kafka_pareto.decision.in_force import FoundInForce
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sections import Confirmation
from kafka_pareto.study.tune import Tune

NOTHING_IN_FORCE = FoundInForce()


def decide(
    study: Tune,
    case: str,
    choice: Choice,
    candidates: pd.DataFrame,
    *,
    choice_repetitions: Sequence[Repetition],
    gain_repetitions: Sequence[Repetition],
    final_repetitions: Sequence[Repetition] = (),
    found: FoundInForce = NOTHING_IN_FORCE,
    rng: np.random.Generator,
) -> Decision:
    """States what the chosen configuration gains over what is in force, and what follows.

    The claims are from the gain blocks alone. What is promised is from the final blocks, which are measured only after
    a claim, so that no claim was selected by them; where the blocks are sequential, it is from all of them, weighted so
    that neither the stop nor the claim flatters it. Harm is judged by both.

    Args:
        study: The campaign's study.
        case: The record size decided for.
        choice: What `choose` returned.
        candidates: `CANDIDATE_COLUMNS` and factors of this record size.
        choice_repetitions: The choice blocks' repetitions; here asked for losses and failures.
        gain_repetitions: Fresh repetitions of the chosen configuration, of what is in force and of the baseline (none
            if nothing else was chosen).
        final_repetitions: The same, later.
        found: What was in force when the confirmation began.
        rng: For the bootstrap of the CVs.
    """
    baseline, in_force = study.baseline_configuration(), found.settings
    baseline_id, chosen_id = study.baseline_id(), choice.configuration_id
    reference_id = in_force.configuration_id if in_force else baseline_id
    confirmation, everything = study.confirmation, [*choice_repetitions, *gain_repetitions, *final_repetitions]
    chosen = None if chosen_id == reference_id else _configuration(study, candidates, chosen_id)

    measured = chosen is not None and bool(gain_repetitions)
    gains = gains_over(study, reference_id, chosen_id, gain_repetitions, study.objective_names, rng) if measured else []
    stated = stated_gains(study, reference_id, chosen_id, gain_repetitions, final_repetitions, rng) if measured else []
    beside_baseline = in_force is not None and chosen_id != baseline_id
    fresh = [*gain_repetitions, *final_repetitions]
    last = fresh if confirmation.is_sequential else final_repetitions or gain_repetitions
    reference_gain, chosen_gain = paired(reference_id, chosen_id, gain_repetitions) if chosen else ([], [])
    if confirmation.is_sequential:  # limits are on averages, not on geometric means
        both = paired(reference_id, chosen_id, fresh)
        reference_values, candidate_values = (_averages(study, side) for side in both)
    else:
        reference_values = {gain.objective: _or_nan(gain.reference_value) for gain in stated or gains}
        candidate_values = {gain.objective: _or_nan(gain.candidate_value) for gain in stated or gains}
    reference_missed = missed_limits(study.limits, reference_values) if gains else None
    variables, nearest_id = study.variables(case), choice.nearest_configuration_id
    bound = {reference_id: _generator_bound(reference_gain), chosen_id: _generator_bound(chosen_gain)}
    undecided = Decision(
        case=case,
        recommended_configuration_id=reference_id,
        baseline_configuration_id=baseline_id,
        pick_configuration_id=None if chosen is None else chosen_id,
        chosen_by=choice.chosen_by,
        choice_asked_by=confirmation.choose_by,
        verdict="keep_no_gain",
        baseline_properties=study.properties(baseline),
        pick_properties=None if chosen is None else study.properties(chosen),
        baseline_durability=study.durability_of(baseline).name,
        pick_durability=None if chosen is None else study.durability_of(chosen).name,
        states_durability=study.declaration.states_durability,
        weaker_than_baseline=chosen is not None and study.durability_of(chosen) < study.durability_of(baseline),
        newest_version=found.newest_version,
        in_force=in_force,
        in_force_left_out=found.left_out,
        nearest_configuration_id=nearest_id,
        nearest_configuration=None if nearest_id is None else _configuration(study, candidates, nearest_id),
        limits_missed=missed_limits(study.limits, candidate_values) if gains else choice.limits_missed,
        baseline_constraints_broken=[rule for rule in study.constraints if not rule.holds(baseline, variables)],
        baseline_in_forbidden=[rule for rule in study.forbidden if not rule.holds(baseline, variables)],
        baseline_limits_missed=choice.baseline_limits_missed
        if in_force or reference_missed is None
        else reference_missed,
        in_force_limits_missed=choice.in_force_limits_missed
        if in_force is None or reference_missed is None
        else reference_missed,
        pick_counts=counts_of(chosen_id, everything if chosen else [], bound[chosen_id]),
        baseline_counts=counts_of(baseline_id, everything, bound.get(baseline_id, 0)),
        in_force_counts=counts_of(reference_id, everything, bound[reference_id]) if in_force else None,
        wanted_effect_fraction=confirmation.wanted_effect_fraction,
        harm_margin_fraction=confirmation.harm_margin(),
        gains=gains,
        stated_gains=stated,
        gains_over_baseline=gains_over(study, baseline_id, chosen_id, last, study.objective_names, rng)
        if gains and beside_baseline
        else [],
        harm=harm_over(study, reference_id, chosen_id, fresh) if gains else [],
        harm_over_baseline=harm_over(study, baseline_id, chosen_id, fresh) if gains and beside_baseline else [],
        blocks_used=len(chosen_gain),
        minimum_blocks=confirmation.minimum_blocks,
        stopping=confirmation.stopping,
        cases_compared=len(study.cases),
        holds_for=study.protocol.holds_for,
        other_study=study.protocol.other_study,
    )
    return adjust_across_cases([undecided])[0]


def further_blocks(decision: Decision, final_blocks: int, confirmation: Confirmation) -> int:
    """Returns how many final blocks follow those that were measured; 0 where the decision stands.

    After a claim some state what the pick brings. If they cannot tell whether it harms a mean, more follow, once. None
    follow in a confirmation that was begun before there were final blocks.
    """
    if not decision.offered or decision.newest_version is None:
        return 0
    if not final_blocks:
        return confirmation.final_blocks
    if confirmation.is_sequential:
        return 0
    may_harm = bool(decision.harm_not_excluded or decision.harm_over_baseline_not_excluded)
    return confirmation.more_blocks if may_harm and final_blocks == confirmation.final_blocks else 0


def adjust_across_cases(decisions: Sequence[Decision]) -> list[Decision]:
    """Applies Holm over all objectives of all these decisions and concludes each of them anew.

    A gain that was significant within its record size may not be so among all: then the reference stays. Decisions
    without enough blocks claim nothing, and so do not count among the comparisons. What is stated bears the resolution
    of its claim. Harm is not adjusted. Where blocks are sequential, the cases share the level equally from the start:
    a claim that has ended the blocks of one case does not depend on what the others show.
    """
    fixed = [each for each in decisions if each.has_enough_blocks and each.stopping == "fixed"]
    together = iter(paired_tests.holm([_or_nan(gain.p_value) for decision in fixed for gain in decision.gains]))
    found = []
    for decision in decisions:
        if not decision.has_enough_blocks:
            adjusted = [float("nan")] * len(decision.gains)
        elif decision.stopping == "fixed":
            adjusted = [next(together) for _ in decision.gains]
        else:
            p_values = [_cautious_p_value(gain) for gain in decision.gains]
            # A test that cannot be done yet counts: which can is no reason for the others' level to change.
            own = paired_tests.holm([1.0 if np.isnan(p_value) else p_value for p_value in p_values])
            adjusted = [
                float("nan") if np.isnan(p_value) else min(1.0, each * decision.cases_compared)
                for p_value, each in zip(p_values, own, strict=True)
            ]
        gains = [
            resolve(gain, p_value, decision.wanted_effect_fraction)
            for gain, p_value in zip(decision.gains, adjusted, strict=True)
        ]
        stated = [
            gain.model_copy(update={"resolution": claim.resolution, "p_value_holm": claim.p_value_holm})
            for gain, claim in zip(decision.stated_gains, gains, strict=bool(decision.stated_gains))
        ]
        found.append(concluded(decision.model_copy(update={"gains": gains, "stated_gains": stated})))
    return found


def _cautious_p_value(gain: Gain) -> float:
    """Returns the p-value by which blocks that nobody fixed before may claim; NaN where there is none."""
    p_value = _or_nan(gain.p_value)
    return p_value if gain.at_any_stop else p_value * CAUTION_ABOUT_CVS


def with_blocks_to_tell(decisions: Sequence[Decision]) -> list[Decision]:
    """Adds to every gain that these decisions leave unresolved how many blocks would tell; they are all there are."""
    claiming = [decision for decision in decisions if decision.has_enough_blocks]
    together = sum(gain.p_value is not None for decision in claiming for gain in decision.gains)
    found = []
    for decision in decisions:
        shared = decision.stopping == "sequential"
        comparisons = decision.cases_compared * len(decision.gains) if shared else together
        gains = [
            gain.model_copy(
                update={
                    "blocks_to_tell": blocks_to_tell(
                        gain,
                        decision.wanted_effect_fraction,
                        comparisons * (CAUTION_ABOUT_CVS if shared and not gain.at_any_stop else 1),
                    )
                }
            )
            if decision in claiming and gain.resolution == "not resolved"
            else gain
            for gain in decision.gains
        ]
        found.append(decision.model_copy(update={"gains": gains}))
    return found


def _configuration(study: Tune, candidates: pd.DataFrame, chosen_id: str) -> dict[str, FactorValue]:
    if chosen_id == study.baseline_id():
        return dict(study.baseline_configuration())
    row: Any = candidates[candidates.configuration_id == chosen_id].iloc[0]
    return {name: value.item() if isinstance(value := row[name], np.generic) else value for name in study.factors}


def _averages(study: Tune, valid: list[Repetition]) -> dict[ObjectiveName, float]:
    trials = summarise_trials(valid, study)
    return {each: float(trials[each].iloc[0]) if len(trials) else float("nan") for each in study.objective_names}


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _generator_bound(repetitions: Sequence[Repetition]) -> int:
    return sum(bool(r.quantities.get("generator_bound")) for r in repetitions)
