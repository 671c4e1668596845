"""What a user needs, and which measured configuration serves it best. Pure.

The study's own choice is the campaign's; this one is asked afterwards, of what was measured, by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel

from kafka_pareto.analysis.repetition_values import smallest_latency_ms
from kafka_pareto.analysis.wording import counted, criterion_text, joined, value_text
from kafka_pareto.decision.choice import best_by, log_gain, missed_limits, worst_excess_fraction
from kafka_pareto.decision.decision import Decision
from kafka_pareto.explorer.snapshot import Seen
from kafka_pareto.kafka.producer_config import Durability
from kafka_pareto.study.objectives import Limit
from kafka_pareto.study.preferences import ChooseBy, Lexicographic

Preference = Literal["study", "throughput", "latency", "balanced"]
Basis = Literal["recommended", "confirmed", "design", "none"]

_CRITERIA: dict[Preference, ChooseBy] = {
    "throughput": Lexicographic(lexicographic=["throughput_mib_s", "p95_latency_ms"]),
    "latency": Lexicographic(lexicographic=["p95_latency_ms", "throughput_mib_s"]),
    "balanced": "balanced_gain",
}


class Wishes(BaseModel):
    """What is needed: limits to keep, the weakest durability to accept, and what counts among what keeps both.

    `study` prefers as the study does, and so the campaign's own recommendation as long as it keeps the limits.
    """

    limits: list[Limit] = []
    durability: Durability
    prefer: Preference = "study"


class Remaining(BaseModel):
    """What is left under the wishes, and the best of it.

    Attributes:
        best_id: None where nothing keeps the wishes.
        basis: What speaks for it: the campaign's recommendation, its confirmation, or single trials of the design.
        remaining_ids: Every measured configuration that keeps the wishes.
        reasons: Sentences.
        nearest_id: Where none keeps the limits, the one whose worst miss is the smallest.
    """

    best_id: str | None
    basis: Basis
    remaining_ids: list[str]
    reasons: list[str]
    nearest_id: str | None = None


def best_remaining(seen: Seen, wishes: Wishes) -> Remaining:
    """Names the best measured configuration that keeps the wishes; what was confirmed goes before what was not.

    Never one that lost a record, breaks the study's rules, or has no valid repetition. The settings in use take part
    like any other, exempt from the rules as in the study. Whether a limit is kept, fresh blocks say of the campaign's
    own pick and of the settings in use; of all others the blocks in which candidates were compared.
    """
    confirmed, design = (_eligible(table, wishes) for table in (seen.confirmed, seen.trials))
    design = design[~design.index.isin(seen.confirmed.configuration_id)]
    decision = seen.decision
    judged = _with_fresh_values(confirmed, decision)
    kept = confirmed.loc[_keeping(judged, wishes.limits).index]
    kept_design = _keeping(design, wishes.limits)
    remaining = [*kept.index, *kept_design.index]
    if decision and wishes.prefer == "study" and decision.recommended_configuration_id in kept.index:
        return Remaining(
            best_id=decision.recommended_configuration_id,
            basis="recommended",
            remaining_ids=remaining,
            reasons=_of_recommendation(seen, decision, wishes, len(remaining)),
        )
    stages: list[tuple[pd.DataFrame, pd.DataFrame, Basis]] = [
        (kept, seen.confirmed, "confirmed"),
        (kept_design, seen.trials, "design"),
    ]
    for table, all_of_it, basis in stages:
        best = _best(seen, table, all_of_it, wishes.prefer)
        if best is not None:
            reasons = _reasons(seen, wishes, table, best[0], best[1], basis)
            reasons += _pick_left_out(decision, judged, wishes)
            return Remaining(best_id=best[0], basis=basis, remaining_ids=remaining, reasons=reasons)
    return _nothing(wishes, pd.concat([judged, design]) if len(judged) or len(design) else judged)


def _eligible(trials: pd.DataFrame, wishes: Wishes) -> pd.DataFrame:
    """Those that may be named at all, by id, in the order of their ids."""
    strong = trials.durability.map(lambda name: Durability[name] >= wishes.durability).astype(bool)
    allowed = (trials.feasible | trials.is_baseline).astype(bool)
    sound = ((trials.repetitions_lost_records == 0) & (trials.repetitions_valid > 0)).astype(bool)
    return trials[strong & allowed & sound].set_index("configuration_id").sort_index()


def _with_fresh_values(confirmed: pd.DataFrame, decision: Decision | None) -> pd.DataFrame:
    """The trials with what fresh blocks say, where there were any: of the campaign's pick and the settings in use."""
    fresh = confirmed.copy()
    if decision is None:
        return fresh
    for gain in decision.gains:
        for configuration_id, value in (
            (decision.tentative_configuration_id, gain.candidate_value),
            (decision.baseline_configuration_id, gain.baseline_value),
        ):
            if configuration_id in fresh.index and value is not None:
                fresh.loc[str(configuration_id), gain.objective] = value
    return fresh


def _pick_left_out(decision: Decision | None, judged: pd.DataFrame, wishes: Wishes) -> list[str]:
    """Why the campaign's own pick is not among what keeps the limits."""
    pick = decision.tentative_configuration_id if decision else None
    if pick is None or pick not in judged.index:
        return []
    missed = missed_limits(wishes.limits, judged.loc[pick])
    return [f"The campaign's own pick, {pick}, misses {joined(missed)} in its fresh blocks."] if missed else []


def _keeping(trials: pd.DataFrame, limits: Sequence[Limit]) -> pd.DataFrame:
    keeps = [worst_excess_fraction(limits, row) <= 0 for _, row in trials.iterrows()]
    return trials[pd.Series(keeps, index=trials.index, dtype=bool)]


def _best(
    seen: Seen, remaining: pd.DataFrame, measured: pd.DataFrame, prefer: Preference
) -> tuple[str, ChooseBy] | None:
    """The best of them by gains over the settings in use, and by what it is; None where nothing can be compared."""
    baselines = measured[measured.configuration_id == seen.study.baseline_id()]
    if remaining.empty or baselines.empty:
        return None
    baseline: Any = baselines.iloc[0]
    least_ms = smallest_latency_ms(seen.study.protocol)
    gains = pd.DataFrame(
        {o: [log_gain(o, value, baseline[o], least_ms) for value in remaining[o]] for o in seen.study.objective_names},
        index=remaining.index,
        dtype=float,
    )
    gains = gains[gains[list(seen.study.means)].notna().all(axis="columns")]
    asked = _CRITERIA.get(prefer, seen.study.confirmation.choose_by)
    baseline_id = seen.study.baseline_id()
    candidates = gains.drop(index=baseline_id, errors="ignore")
    if candidates.empty:
        return None if gains.empty else (baseline_id, asked)
    # The settings in use stand first: of equals the first is taken.
    return best_by(asked, pd.concat([gains.drop(index=candidates.index), candidates]), remaining, baseline_id)


def _of_recommendation(seen: Seen, decision: Decision, wishes: Wishes, remaining: int) -> list[str]:
    kept = []
    if wishes.limits:
        where = " in its fresh blocks" if decision.gains else ""
        kept = [f"It keeps {_limits_text(wishes.limits)}{where}; {remaining} measured configurations do."]
    subject = "The campaign recommends it." if decision.recommended else "The campaign keeps the settings in use."
    provisional = "" if seen.context else "The report, which judges all record sizes together, is still to come."
    return [sentence for sentence in (subject, *decision.reasons, *kept, provisional) if sentence]


def _reasons(
    seen: Seen, wishes: Wishes, remaining: pd.DataFrame, best_id: str, chosen_by: ChooseBy, basis: Basis
) -> list[str]:
    best: Any = remaining.loc[best_id]
    what = "confirmed configurations" if basis == "confirmed" else "configurations of the design"
    keep = f" keep {_limits_text(wishes.limits)}" if wishes.limits else " promise enough durability"
    reached = joined([value_text(best[objective], objective) for objective in ("throughput_mib_s", "p95_latency_ms")])
    sentences = [
        f"{len(remaining)} {what}{keep}; this one is the best of them by {criterion_text(chosen_by)}: {reached}."
    ]
    if best_id == seen.study.baseline_id():
        sentences.append("These are the settings in use.")
    if basis == "design":
        sentences.append(
            f"It was measured by {counted(int(best.repetitions_valid), 'repetition')} and not confirmed: luck is part "
            "of these values. Measure it again before you use it."
        )
    elif best_id != seen.study.baseline_id():
        sentences.append(_standing(seen.decision, best_id))
    if Durability[best.durability] < seen.study.durability_of(seen.study.baseline_configuration()):
        sentences.append("It promises less durability than the settings in use.")
    return sentences


def _standing(decision: Decision | None, best_id: str) -> str:
    """What the campaign itself came to about a confirmed configuration."""
    if decision is None or best_id != decision.tentative_configuration_id:
        return (
            "Its values are of the blocks in which candidates were compared; fresh ones, from which gains are stated, "
            "went to the campaign's own pick alone."
        )
    if decision.recommended:
        return "It is what the campaign recommends."
    return f"It was the campaign's own pick, and is not recommended: {' '.join(decision.reasons)}"


def _nothing(wishes: Wishes, eligible: pd.DataFrame) -> Remaining:
    if eligible.empty:
        return Remaining(
            best_id=None,
            basis="none",
            remaining_ids=[],
            reasons=[f"Nothing that was measured so far promises {wishes.durability.name} and may be chosen."],
        )
    excess = pd.Series({name: worst_excess_fraction(wishes.limits, row) for name, row in eligible.iterrows()})
    nearest = str(excess.idxmin())
    missed = joined(missed_limits(wishes.limits, eligible.loc[nearest])) if wishes.limits else ""
    said = f"Nothing measured keeps {_limits_text(wishes.limits)}; the nearest, {nearest}, misses {missed}."
    unmeasured = "The settings in use are not measured yet: nothing can be compared with them."
    return Remaining(
        best_id=None, basis="none", remaining_ids=[], reasons=[said if missed else unmeasured], nearest_id=nearest
    )


def _limits_text(limits: Sequence[Limit]) -> str:
    return joined([str(limit) for limit in limits])
