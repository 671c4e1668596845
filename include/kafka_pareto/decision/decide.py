"""Decide on the recommendation: the confirmed configuration, its gains, and whether the evidence suffices.

The choice uses one set of blocks and all claims use fresh ones, so the choice's selection bias is excluded. Without
enough evidence or gain, the active configuration stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from kafka_pareto.analysis.gains import SIGNIFICANCE, gains_over
from kafka_pareto.analysis.repetition_values import paired
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.against_advice import AgainstAdvice
from kafka_pareto.decision.choice import Choice, missed_limits
from kafka_pareto.decision.counts import counts_of
from kafka_pareto.decision.decision import Decision, FoundActiveSettings, Verdict
from kafka_pareto.decision.harm import harm_margin
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sections import Confirmation
from kafka_pareto.study.tune import Tune

NO_ACTIVE_SETTINGS = FoundActiveSettings()
MOST_TIMES = 2
"""Upper bound on the blocks before any final blocks of the advice, as a multiple of those that the pick needs."""


def decide(
    study: Tune,
    case: str,
    choice: Choice,
    candidates: pd.DataFrame,
    *,
    choice_repetitions: Sequence[Repetition],
    gain_repetitions: Sequence[Repetition],
    final_repetitions: Sequence[Repetition] = (),
    found: FoundActiveSettings = NO_ACTIVE_SETTINGS,
    discarded: Sequence[Repetition] = (),
) -> Decision:
    """State the chosen configuration's gains over the active one, and the verdict.

    Gain and final blocks, fresh ones of the chosen and the active configuration and the baseline, are treated equally:
    the intervals hold for any reason to measure more. Choice blocks count for losses and failures only, rejected
    repetitions (`discarded`) for upsets only.
    """
    baseline, in_force = study.baseline_configuration(), found.settings
    baseline_id, chosen_id = study.baseline_id(), choice.configuration_id
    reference_id = in_force.configuration_id if in_force else baseline_id
    fresh = [*gain_repetitions, *final_repetitions]
    confirmation, everything = study.confirmation, [*choice_repetitions, *fresh]
    chosen = None if chosen_id == reference_id else _configuration(study, candidates, chosen_id)

    both = paired(reference_id, chosen_id, fresh) if chosen is not None else ([], [])
    measured = chosen is not None and bool(gain_repetitions)
    gains = gains_over(study, reference_id, chosen_id, fresh, study.objective_names) if measured else []
    beside_baseline = in_force is not None and chosen_id != baseline_id
    # Limits are on averages, not on geometric means.
    reference_values, candidate_values = (_averages(study, side) for side in both)
    reference_missed = missed_limits(study.limits, reference_values) if gains else None
    variables, nearest_id = study.variables(case), choice.nearest_configuration_id
    bound = {reference_id: _generator_bound(both[0]), chosen_id: _generator_bound(both[1])}
    counts = partial(counts_of, discarded=discarded)
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
        driver=study.driver,
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
        pick_counts=counts(chosen_id, everything if chosen else [], bound[chosen_id]),
        baseline_counts=counts(baseline_id, everything, bound.get(baseline_id, 0)),
        in_force_counts=counts(reference_id, everything, bound[reference_id]) if in_force else None,
        wanted_effect_fraction=confirmation.wanted_effect_fraction,
        harm_margin_fraction=harm_margin(confirmation),
        gains=gains,
        gains_over_baseline=gains_over(study, baseline_id, chosen_id, fresh, study.objective_names)
        if gains and beside_baseline
        else [],
        blocks_used=len(both[0]),
        final_blocks=sum(each.phase == "final" for each in both[0]),
        minimum_blocks=confirmation.minimum_blocks,
        stopping=confirmation.stopping,
        holds_for=study.protocol.holds_for,
        other_study=study.protocol.other_study,
    )
    return _concluded(undecided)


def _concluded(decision: Decision) -> Decision:
    verdict, chosen = _verdict(decision), decision.pick_configuration_id
    recommended = chosen if verdict == "recommended" and chosen is not None else decision.reference_configuration_id
    return decision.model_copy(update={"verdict": verdict, "recommended_configuration_id": recommended})


def _verdict(decision: Decision) -> Verdict:
    if decision.pick_configuration_id is None:
        return "keep_limits_missed" if decision.limits_missed else "keep_no_gain"
    if decision.pick_counts.lost_records:
        return "keep_lost_records"
    if decision.fails_more:
        p_value = decision.pick_counts.failing_more_p_value(decision.reference_counts)
        if p_value is None or p_value < SIGNIFICANCE:
            return "keep_failed_more"
    if not decision.has_enough_blocks:
        return "keep_not_enough_evidence"
    if decision.limits_missed:
        return "keep_limits_missed"
    if decision.harmed:
        return "keep_harmed"
    if not decision.better:
        return "keep_no_gain"
    if decision.unjudged:
        return "keep_not_enough_evidence"
    may_harm = decision.harm_not_excluded or decision.harm_over_baseline_not_excluded or decision.losses_to_advice
    return "ask_a_person" if may_harm or decision.fails_more else "recommended"


def beside_advice(decision: Decision, advice: AgainstAdvice) -> Decision:
    """Conclude again, with the pick's comparison with the best advice."""
    return _concluded(decision.model_copy(update={"advice": advice}))


def more_beside_advice(decision: Decision, gain_blocks: int, fresh_blocks: int, confirmation: Confirmation) -> int:
    """Return the most blocks that may follow to rule out that an offered pick is worse than the advice.

    They use up the gain blocks that the decision did not need, and at most double its fresh blocks.
    """
    if not decision.offered or not confirmation.is_sequential:
        return 0
    return max(min(confirmation.gain_blocks - gain_blocks, (MOST_TIMES - 1) * fresh_blocks), 0)


def advice_is_preferable(pick: Decision, advice: AgainstAdvice) -> bool:
    """Return whether the advice should replace the pick if it qualifies: the pick is not offered, or may be worse."""
    return not pick.offered or advice.may_be_worse(pick.harm_margin_fraction)


def advice_may_replace(advised: Decision, pick: Decision) -> bool:
    """Return whether the advice, decided by the same blocks as the pick, is offered on no weaker terms."""
    return advised.recommended or (advised.offered and not pick.recommended)


def further_blocks(decision: Decision, final_blocks: int, confirmation: Confirmation) -> int:
    """Return how many final blocks follow those measured; 0 if the decision stands.

    Final blocks must confirm a claim. If a fixed number leaves it open whether an offered pick does harm, more follow,
    once. None follow in a confirmation begun before final blocks existed.
    """
    if not decision.shows_a_change or decision.newest_version is None:
        return 0
    if not final_blocks:
        return confirmation.final_blocks
    if confirmation.is_sequential or not decision.offered:
        return 0
    may_harm = bool(decision.harm_not_excluded or decision.harm_over_baseline_not_excluded)
    return confirmation.more_blocks if may_harm and final_blocks == confirmation.final_blocks else 0


def _configuration(study: Tune, candidates: pd.DataFrame, chosen_id: str) -> dict[str, FactorValue]:
    if chosen_id == study.baseline_id():
        return dict(study.baseline_configuration())
    row: Any = candidates[candidates.configuration_id == chosen_id].iloc[0]
    return {name: value.item() if isinstance(value := row[name], np.generic) else value for name in study.factors}


def _averages(study: Tune, valid: list[Repetition]) -> dict[ObjectiveName, float]:
    trials = summarise_trials(valid, study)
    return {each: float(trials[each].iloc[0]) if len(trials) else float("nan") for each in study.objective_names}


def _generator_bound(repetitions: Sequence[Repetition]) -> int:
    return sum(bool(r.quantities.get("generator_bound")) for r in repetitions)
