"""Explain a decision: the reason for its verdict, and what the pick costs."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.wording import counted, joined, missed_limit_text, p_text, resolution_text, share
from kafka_pareto.decision.choice import MissedLimit
from kafka_pareto.decision.counts import Counts
from kafka_pareto.decision.decision import Decision, Verdict
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.configuration_words import configuration_words
from kafka_pareto.study.declarations import label_of
from kafka_pareto.study.objectives import ObjectiveName

UPSET = "a leader change, or an unhealthy cluster afterward"

_KEPT_BECAUSE: dict[Verdict, str] = {
    "keep_no_gain": "no gain shown",
    "keep_harmed": "the pick makes something worse",
    "keep_not_enough_evidence": "not enough evidence",
    "keep_lost_records": "the pick lost records",
    "keep_failed_more": "the pick failed more often",
    "keep_limits_missed": "limits not met",
}


def headline_of(decision: Decision) -> str:
    """Return the verdict in a few words."""
    if decision.verdict == "recommended":
        is_advice = decision.advice is not None and decision.advice.in_place_of is not None
        return "CHANGE RECOMMENDED: published advice" if is_advice else "CHANGE RECOMMENDED"
    if decision.verdict == "ask_a_person":
        return f"APPROVAL REQUIRED: better, but {_doubt(decision)}"
    kept = "THE ACTIVE SETTINGS" if decision.in_force else "THE BASELINE"
    if decision.verdict == "keep_no_gain" and decision.no_difference:
        return f"KEEP {kept}: no relevant difference"
    return f"KEEP {kept}: {_KEPT_BECAUSE[decision.verdict]}"


def _doubt(decision: Decision) -> str:
    if decision.harm_not_excluded or decision.harm_over_baseline_not_excluded:
        return "a regression is possible"
    return "more failures are possible" if decision.fails_more else "published advice may be better"


def whom_it_holds_for(decision: Decision) -> str:
    """Name the case and the scope of the decision."""
    case = case_label(decision.case)
    return f"{case}, {decision.holds_for}" if decision.holds_for else case


def reference_words(decision: Decision) -> str:
    """Name the pick's reference."""
    return f"active version {decision.in_force.version}" if decision.in_force else "the baseline"


def reason_of(decision: Decision) -> str:
    """Explain the verdict in one or two sentences."""
    match decision.verdict:
        case "keep_lost_records":
            return f"The pick lost or duplicated records in {counted(decision.pick_counts.lost_records, 'repetition')}."
        case "keep_failed_more":
            return f"{_failures(decision)}."
        case "keep_limits_missed":
            return _limits_missed(decision)
        case "keep_not_enough_evidence":
            if decision.has_enough_blocks:
                return f"Not enough evidence: too few blocks for an interval of {_labels(decision.unjudged)}."
            blocks = counted(decision.blocks_used, "complete block")
            return f"Not enough evidence: {blocks} measured; the study requires {decision.minimum_blocks}."
        case "keep_harmed":
            gained = f", although {_labels(decision.better)} improved" if decision.better else ""
            harmed = decision.harmed or [gain.objective for gain in decision.main_gains if gain.resolution == "worse"]
            return f"The pick made {_labels(harmed)} worse{_than_active(decision)}{gained}."
        case "keep_no_gain":
            return _no_gain(decision)
        case "ask_a_person":
            return f"{_benefit(decision)} {harm_sentences(decision)} Approval is required."
        case "recommended":
            return _benefit(decision)


def rules_broken(decision: Decision) -> str:
    """Name the study's current rules that the active settings break; empty if none."""
    found = decision.in_force
    if found is None or not decision.active_breaks_rules:
        return ""
    broken = [
        *(f"the constraint {rule}" for rule in found.constraints_broken),
        *(f"the forbidden region {rule}" for rule in found.in_forbidden),
        *(f"the limit {missed_limits_text([each])}" for each in decision.in_force_limits_missed),
        *(["the rule against lost records"] if decision.reference_counts.lost_records else []),
        *([] if found.durability_accepted else [f"the accepted durability ({found.durability})"]),
    ]
    return f"Active version {found.version} violates {joined(broken)}."


def harm_text(gain: Gain, than: str = "") -> str:
    """State how much worse a mean may be."""
    label = label_of(gain.objective)
    if gain.worst_fraction is None:
        return f"whether {label} is worse{than} is unknown" if than else f"the effect on {label} is unknown"
    return f"{label} could be up to {share(gain.worst_fraction)} worse{than}"


def trade_offs(decision: Decision) -> list[str]:
    """List the pick's trade-offs: a weaker durability, and each objective that is significantly worse."""
    sentences = []
    if decision.weaker_than_active:
        sentences.append(f"durability: {decision.pick_durability} instead of {decision.reference_durability} (active)")
    if decision.weaker_than_baseline:
        sentences.append(f"durability: {decision.pick_durability} instead of {decision.baseline_durability}")
    for gain in decision.gains:
        if gain.resolution == "worse":
            change = "" if gain.change_fraction is None else f"{share(abs(gain.change_fraction))} "
            sentences.append(f"{label_of(gain.objective)} is {change}worse")
    return sentences


def missed_limits_text(missed: Iterable[MissedLimit]) -> str:
    """List the missed limits, and by how much."""
    return joined(missed_limit_text(each.limit, each.value) for each in missed)


def _limits_missed(decision: Decision) -> str:
    missed = missed_limits_text(decision.limits_missed)
    if decision.pick_configuration_id is not None:
        return f"In fresh blocks, the pick misses {missed}."
    nearest = str(decision.nearest_configuration_id)
    if decision.nearest_configuration is not None:
        nearest += f" ({configuration_words(decision.nearest_configuration, ', ')})"
    return f"No eligible configuration meets every limit. The closest, {nearest}, misses {missed}."


def _no_gain(decision: Decision) -> str:
    if decision.pick_configuration_id is None:
        return f"No eligible configuration beat {reference_words(decision)}."
    no_difference = f"no difference above {share(decision.wanted_effect_fraction)}"
    results: dict[str, list[ObjectiveName]] = {}
    for gain in decision.wanted_gains:
        result = no_difference if gain.resolution == "no difference shown" else resolution_text(gain)
        results.setdefault(result, []).append(gain.objective)
    standing = "; ".join(f"{result}: {_labels(found)}" for result, found in results.items())
    over = f" over {reference_words(decision)}" if decision.in_force else ""
    return f"No significant gain{over} in fresh blocks ({standing})."


def _benefit(decision: Decision) -> str:
    other = [
        f"{label_of(gain.objective)}: {resolution_text(gain)}"
        for gain in decision.wanted_gains
        if gain.resolution != "better"
    ]
    over = f" over {reference_words(decision)}" if decision.in_force else ""
    beside = f" ({'; '.join(other)})" if other else ""
    return f"In fresh blocks, {_labels(decision.better)} improved{over}{beside}."


def _than_active(decision: Decision) -> str:
    return f" than {reference_words(decision)}" if decision.in_force else ""


def harm_sentences(decision: Decision) -> str:
    """State what may be worse by more than the study tolerates; empty if harm is excluded."""
    said, margin = [], share(decision.harm_margin_fraction)
    advised = joined(decision.advice.titles) if decision.advice else ""
    for doubtful, than in (
        (decision.harm_not_excluded, ""),
        (decision.harm_over_baseline_not_excluded, " than the baseline's"),
        (decision.losses_to_advice, f" than with the best advice ({advised})"),
    ):
        if doubtful:
            texts = joined(harm_text(each, than) for each in doubtful)
            blocks = max(len(each.candidate_repetition_ids) for each in doubtful)
            said.append(f"After {counted(blocks, 'block')}, {texts}; the study tolerates {margin}.")
    if decision.fails_more:
        said.append(f"{_failures(decision)}; this may be chance.")
    return " ".join(said)


def _failures(decision: Decision) -> str:
    pick, reference = decision.pick_counts, decision.reference_counts
    whose = "the active settings" if decision.in_force else "the baseline"
    own, others = pick.failed_or_upset, reference.failed_or_upset
    if pick.attempts is None or reference.attempts is None:
        return f"The pick failed in {counted(own, 'repetition')}, {whose} in {others}"
    p = p_text(pick.failing_more_p_value(reference))
    p = p if p.startswith("<") else f"= {p}"
    return (
        f"The pick failed in {own} of {counted(pick.attempts, 'repetition')}{_upsets(pick)}, {whose} in {others} of "
        f"{reference.attempts}{_upsets(reference)} (exact test: p {p}); its failure rate may be up to "
        f"{share(pick.largest_failure_fraction)}"
    )


def _upsets(counts: Counts) -> str:
    """State how many of the failures involved a leader change or a cluster in trouble; empty for none."""
    return f" ({counts.upsets} with {UPSET})" if counts.upsets else ""


def _labels(objectives: Iterable[ObjectiveName]) -> str:
    return joined(label_of(objective) for objective in objectives)
