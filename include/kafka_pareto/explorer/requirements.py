"""Find the measured configuration that best meets a user's requirements.

The campaign chooses by the study's preference; this choice uses the same measurements and rules afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel

from kafka_pareto.analysis.repetition_values import smallest_value
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.analysis.wording import counted, criterion_text, joined, value_text
from kafka_pareto.decision.choice import best_by, log_gain, missed_limits, worst_excess_fraction
from kafka_pareto.decision.decision import Decision
from kafka_pareto.explorer.snapshot import Snapshot, repetitions_named
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.report.reasons import missed_limits_text, reason_of
from kafka_pareto.rollout.eligibility import lost_in_any_block
from kafka_pareto.study.configuration_words import configuration_words
from kafka_pareto.study.objectives import ChooseBy, Lexicographic, Limit
from kafka_pareto.study.tune import Tune

Preference = Literal["study", "throughput", "latency", "balanced"]
Basis = Literal["recommended", "confirmed", "design", "none"]


class Requirements(BaseModel):
    """A user's requirements: limits, the weakest acceptable durability, and a preference among the rest.

    `study` is the study's own preference: it names the campaign's recommendation if that meets the limits.
    """

    limits: list[Limit] = []
    durability: Durability
    prefer: Preference = "study"


class Remaining(BaseModel):
    """The configurations that meet the requirements, and the best of them.

    Attributes:
        best_id: None if no configuration meets the requirements.
        basis: Its evidence: the campaign's recommendation, its confirmation, or single trials of the design.
        reasons: Explanations, in sentences.
        nearest_id: The configuration with the smallest worst miss, if none meets the limits.
    """

    best_id: str | None
    basis: Basis
    remaining_ids: list[str]
    reasons: list[str]
    nearest_id: str | None = None


def best_remaining(snapshot: Snapshot, requirements: Requirements) -> Remaining:
    """Return the best measured configuration that meets the requirements; confirmed ones come first.

    A configuration is never named if it lost a record, breaks the study's rules, or has no valid repetition. The
    baseline competes like any other but is exempt from the study's rules. The campaign's pick and its reference are
    judged by their fresh blocks, all others by the blocks in which candidates were compared.
    """
    confirmed, design = (_eligible(snapshot, table, requirements) for table in (snapshot.confirmed, snapshot.trials))
    design = design[~design.index.isin(snapshot.confirmed.configuration_id)]
    decision = snapshot.decision
    judged = _with_fresh_values(snapshot, confirmed)
    kept = confirmed.loc[_keeping(judged, requirements.limits).index]
    kept_design = _keeping(design, requirements.limits)
    remaining = [*kept.index, *kept_design.index]
    if decision and requirements.prefer == "study" and decision.recommended_configuration_id in kept.index:
        return Remaining(
            best_id=decision.recommended_configuration_id,
            basis="recommended",
            remaining_ids=remaining,
            reasons=_of_recommendation(decision, requirements, len(remaining)),
        )
    stages: list[tuple[pd.DataFrame, pd.DataFrame, Basis]] = [
        (kept, snapshot.confirmed, "confirmed"),
        (kept_design, snapshot.trials, "design"),
    ]
    for table, all_of_it, basis in stages:
        if best := _best(snapshot, table, all_of_it, requirements.prefer):
            reasons = _reasons(snapshot, requirements, table, *best, basis)
            reasons += _pick_excluded(snapshot, judged, requirements)
            return Remaining(best_id=best[0], basis=basis, remaining_ids=remaining, reasons=reasons)
    return _nothing(snapshot, requirements, pd.concat([judged, design]) if len(judged) or len(design) else judged)


def _eligible(snapshot: Snapshot, trials: pd.DataFrame, requirements: Requirements) -> pd.DataFrame:
    """Return the trials that may be named, in order of their ids."""
    strong = trials.durability.map(lambda name: Durability[name] >= requirements.durability).astype(bool)
    allowed = (trials.feasible | trials.is_baseline).astype(bool)
    decision = snapshot.decision
    lossy = [name for name in trials.configuration_id if decision and lost_in_any_block(decision, name)]
    lossless = (trials.repetitions_lost_records == 0) & ~trials.configuration_id.isin(lossy)
    sound = (lossless & (trials.repetitions_valid > 0)).astype(bool)
    return trials[strong & allowed & sound].set_index("configuration_id").sort_index()


def _with_fresh_values(snapshot: Snapshot, confirmed: pd.DataFrame) -> pd.DataFrame:
    """Return the trials, with averages over fresh blocks for the pick and its reference, as the decision has them."""
    judged, objectives = confirmed.copy(), list(snapshot.study.objective_names)
    gains = snapshot.decision.gains if snapshot.decision else []
    ids = {each for gain in gains for each in (*gain.candidate_repetition_ids, *gain.reference_repetition_ids)}
    fresh = summarise_trials(repetitions_named(snapshot, ids), snapshot.study).set_index("configuration_id")
    shared = judged.index.intersection(fresh.index)
    judged.loc[shared, objectives] = fresh.loc[shared, objectives]
    return judged


def _pick_excluded(snapshot: Snapshot, judged: pd.DataFrame, requirements: Requirements) -> list[str]:
    """Explain why the campaign's pick misses the limits; empty if it does not."""
    pick = snapshot.decision.pick_configuration_id if snapshot.decision else None
    if pick is None or pick not in judged.index:
        return []
    if not (missed := missed_limits(requirements.limits, judged.loc[pick])):
        return []
    own = _named(snapshot, judged, pick)
    return [f"In its fresh blocks, the campaign's own pick, {own}, misses {missed_limits_text(missed)}."]


def _keeping(trials: pd.DataFrame, limits: Sequence[Limit]) -> pd.DataFrame:
    keeps = [worst_excess_fraction(limits, row) <= 0 for _, row in trials.iterrows()]
    return trials[pd.Series(keeps, index=trials.index, dtype=bool)]


def _criterion(prefer: Preference, study: Tune) -> ChooseBy:
    """Map a preference to a criterion; `throughput` and `latency` are the driver's own two objectives."""
    more, less = study.declaration.plane
    match prefer:
        case "throughput":
            return Lexicographic(lexicographic=[more, less])
        case "latency":
            return Lexicographic(lexicographic=[less, more])
        case "balanced":
            return "balanced_gain"
        case "study":
            return study.confirmation.choose_by


def _best(
    snapshot: Snapshot, remaining: pd.DataFrame, measured: pd.DataFrame, prefer: Preference
) -> tuple[str, ChooseBy] | None:
    """Return the best by gains over the baseline, and its criterion; None if none is comparable."""
    baselines = measured[measured.configuration_id == snapshot.study.baseline_id()]
    if remaining.empty or baselines.empty:
        return None
    study, baseline = snapshot.study, baselines.iloc[0]
    by_objective = {
        o: [log_gain(o, value, baseline[o], smallest_value(o, study.protocol)) for value in remaining[o]]
        for o in study.objective_names
    }
    gains = pd.DataFrame(by_objective, index=remaining.index, dtype=float).dropna(subset=list(study.means))
    asked, baseline_id = _criterion(prefer, study), study.baseline_id()
    candidates = gains.drop(index=baseline_id, errors="ignore")
    if candidates.empty:
        return None if gains.empty else (baseline_id, asked)
    # The baseline comes first, so it wins ties.
    ordered = pd.concat([gains.drop(index=candidates.index), candidates])
    return best_by(study, asked, ordered, remaining, baseline_id)


def _of_recommendation(decision: Decision, requirements: Requirements, remaining: int) -> list[str]:
    kept = []
    if requirements.limits:
        where = " in its fresh blocks" if decision.gains else ""
        count = counted(remaining, "measured configuration")
        kept = [
            f"It meets {_limits_text(requirements.limits)}{where}; {count} in total {_agreeing(remaining)} the limits."
        ]
    stays = "the active settings" if decision.in_force else "the baseline"
    subject = "The campaign recommends it." if decision.recommended else f"The campaign keeps {stays}."
    return [subject, reason_of(decision), *kept]


def _reasons(
    snapshot: Snapshot,
    requirements: Requirements,
    remaining: pd.DataFrame,
    best_id: str,
    chosen_by: ChooseBy,
    basis: Basis,
) -> list[str]:
    best: Any = remaining.loc[best_id]
    count = counted(len(remaining), "confirmed configuration" if basis == "confirmed" else "design configuration")
    reached = joined([value_text(best[each], each) for each in snapshot.study.declaration.plane])
    criterion = criterion_text(chosen_by, snapshot.study.means)
    compared = f"{count} compared"
    if requirements.limits or snapshot.study.declaration.states_durability:
        met = _limits_text(requirements.limits) if requirements.limits else "the durability requirement"
        compared = f"{count} {_agreeing(len(remaining))} {met}"
    sentences = [f"{compared}. Best by {criterion}: {reached}."]
    if basis == "confirmed" or best_id == snapshot.study.baseline_id():
        sentences.append(standing(snapshot, best_id))
    if basis == "design":
        sentences.append(
            f"Not confirmed: measured in {counted(int(best.repetitions_valid), 'repetition')} only, so its values "
            "may be partly luck. Measure it again before you use it."
        )
    if Durability[best.durability] < snapshot.study.durability_of(snapshot.study.baseline_configuration()):
        sentences.append("Its durability guarantee is weaker than the baseline's.")
    return sentences


def standing(snapshot: Snapshot, configuration_id: str) -> str:
    """Return the campaign's conclusion on a measured configuration."""
    decision = snapshot.decision
    if configuration_id == snapshot.study.baseline_id():
        return "This is the baseline."
    if configuration_id not in set(snapshot.confirmed.configuration_id):
        return "Not confirmed: measured in the design or a round only. Measure it again before you use it."
    if decision is None:
        return "Confirmed, but the campaign has not decided yet."
    if configuration_id == decision.recommended_configuration_id:
        if decision.recommended:
            return "The campaign recommends this configuration."
        return "The campaign keeps these settings: they were active."
    if configuration_id == decision.pick_configuration_id:
        return f"The campaign's pick, not recommended: {reason_of(decision)}"
    if decision.gains and configuration_id == decision.reference_configuration_id:
        return "These settings were active: the campaign compared its pick with them in fresh blocks."
    return "Confirmed but not recommended: measured in the choice blocks; the campaign states no gain for it."


def _nothing(snapshot: Snapshot, requirements: Requirements, eligible: pd.DataFrame) -> Remaining:
    if eligible.empty:
        states_durability = snapshot.study.declaration.states_durability
        durable = f" with durability {requirements.durability.name}" if states_durability else ""
        said = f"No eligible configuration{durable} has been measured so far."
        return Remaining(best_id=None, basis="none", remaining_ids=[], reasons=[said])
    excess = pd.Series({name: worst_excess_fraction(requirements.limits, row) for name, row in eligible.iterrows()})
    nearest = str(excess.idxmin())
    said = "The baseline has not been measured yet, so no comparison is possible."
    if missed := missed_limits(requirements.limits, eligible.loc[nearest]):
        limits, named = _limits_text(requirements.limits), _named(snapshot, eligible, nearest)
        said = f"No measured configuration meets {limits}. The closest, {named}, misses {missed_limits_text(missed)}."
    return Remaining(best_id=None, basis="none", remaining_ids=[], reasons=[said], nearest_id=nearest)


def _named(snapshot: Snapshot, trials: pd.DataFrame, configuration_id: str) -> str:
    """Return a configuration's ID and settings."""
    row: Any = trials.loc[configuration_id]
    return f"{configuration_id} ({configuration_words({name: row[name] for name in snapshot.study.factors}, ', ')})"


def _limits_text(limits: Sequence[Limit]) -> str:
    return joined([str(limit) for limit in limits])


def _agreeing(count: int) -> str:
    return "meets" if count == 1 else "meet"
