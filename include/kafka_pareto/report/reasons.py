"""The sentences of a decision: why its verdict is what it is, and what the pick costs. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.wording import counted, joined, missed_limit_text
from kafka_pareto.decision.choice import MissedLimit
from kafka_pareto.decision.decision import Decision, Verdict
from kafka_pareto.study.configuration_words import configuration_words
from kafka_pareto.study.driver import label_of
from kafka_pareto.study.objectives import ObjectiveName

HEADLINES: dict[Verdict, str] = {
    "recommended": "CHANGE RECOMMENDED",
    "keep_baseline_no_gain": "KEEP YOUR SETTINGS: no gain shown",
    "keep_baseline_not_enough_evidence": "KEEP YOUR SETTINGS: not enough evidence",
    "keep_baseline_lost_records": "KEEP YOUR SETTINGS: the pick lost records",
    "keep_baseline_failed_more": "KEEP YOUR SETTINGS: the pick failed more often",
    "keep_baseline_limits_missed": "KEEP YOUR SETTINGS: a limit is not kept",
}


def reason_of(decision: Decision) -> str:
    """Says why the verdict is what it is, in one sentence."""
    match decision.verdict:
        case "keep_baseline_lost_records":
            return f"The pick lost or duplicated records in {counted(decision.repetitions_lost_records, 'repetition')}."
        case "keep_baseline_failed_more":
            return (
                f"The pick failed in {counted(decision.repetitions_failed, 'repetition')}, the baseline in "
                f"{decision.baseline_repetitions_failed}."
            )
        case "keep_baseline_limits_missed":
            return _limits_missed(decision)
        case "keep_baseline_not_enough_evidence":
            return f"Not enough evidence: {_what_is_missing(decision)}"
        case "keep_baseline_no_gain":
            return _no_gain(decision)
        case "recommended":
            other = [_resolution(gain) for gain in decision.wanted_gains if gain.resolution != "better"]
            beside = f" ({'; '.join(other)})" if other else ""
            return f"Fresh blocks show better {_labels(decision.better)}{beside}."


def given_up(decision: Decision) -> list[str]:
    """Says what the pick costs: a weaker durability, and each objective shown to be worse."""
    sentences = []
    if decision.weaker_than_baseline:
        sentences.append(f"durability: {decision.pick_durability} instead of {decision.baseline_durability}")
    for gain in decision.gains:
        if gain.resolution == "worse":
            change = "" if gain.change_fraction is None else f" by {abs(gain.change_fraction):.0%}"
            sentences.append(f"{label_of(gain.objective)} is worse{change}")
    return sentences


def missed_limits_text(missed: Iterable[MissedLimit]) -> str:
    """Enumerates limits that are not kept, and by how much."""
    return joined(missed_limit_text(each.limit, each.value) for each in missed)


def _limits_missed(decision: Decision) -> str:
    missed = missed_limits_text(decision.limits_missed)
    if decision.pick_configuration_id is not None:
        return f"In fresh blocks the pick misses {missed}."
    nearest = str(decision.nearest_configuration_id)
    if decision.nearest_configuration is not None:
        nearest += f" ({configuration_words(decision.nearest_configuration, ', ')})"
    return f"No measured configuration that may be chosen keeps every limit: the nearest, {nearest}, misses {missed}."


def _what_is_missing(decision: Decision) -> str:
    if not decision.has_enough_blocks:
        blocks = counted(decision.blocks_used, "complete block")
        return f"{blocks} measured, the study asks for {decision.minimum_blocks}."
    return f"{_labels(decision.unjudged)} may have changed, and these blocks have no spread to judge it by."


def _no_gain(decision: Decision) -> str:
    if decision.pick_configuration_id is None:
        return "No measured configuration that may be chosen beat the baseline."
    if decision.worse:
        gained = f", although {_labels(decision.better)} improved" if decision.better else ""
        return f"The pick made {_labels(decision.worse)} worse{gained}."
    standing = "; ".join(_standing(gain, decision.wanted_effect_fraction) for gain in decision.wanted_gains)
    return f"Fresh blocks show no gain: {standing}."


def _standing(gain: Gain, wanted_effect_fraction: float) -> str:
    label = label_of(gain.objective)
    if gain.resolution == "no difference shown":
        return f"{label} does not differ by more than {wanted_effect_fraction:.0%}"
    if gain.resolution == "worse":  # a spread that the study chooses by
        return f"{label} is worse"
    return f"{label} is not resolved by this budget"


def _resolution(gain: Gain) -> str:
    return f"{label_of(gain.objective)}: {gain.resolution}"


def _labels(objectives: Iterable[ObjectiveName]) -> str:
    return joined(label_of(objective) for objective in objectives)
