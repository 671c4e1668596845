"""The decision of one record size: its evidence, and the verdict that follows. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.wording import joined
from kafka_pareto.decision.choice import objectives_named
from kafka_pareto.kafka.producer_config import PropertyValue
from kafka_pareto.storage.record import Record
from kafka_pareto.study.driver import label_of, objective_named
from kafka_pareto.study.preferences import ChooseBy

Verdict = Literal[
    "recommended",
    "keep_baseline_no_gain",
    "keep_baseline_not_enough_evidence",
    "keep_baseline_lost_records",
    "keep_baseline_failed_more",
    "keep_baseline_limits_missed",
]


class Decision(Record):
    """What is recommended for one record size, and why. `gains` compare the tentative pick with the baseline.

    Attributes:
        recommended_configuration_id: The baseline's own id when the baseline stays.
        tentative_configuration_id: The pick of the choice blocks; None when none beat the baseline there.
        chosen_by: What the choice went by; `balanced_gain` where the study asks for CVs that are missing.
        choice_asked_by: What the study asks to choose by.
        reasons: Sentences that say why the verdict is what it is.
        given_up: Sentences: a weaker durability, and each objective shown to be worse.
        tentative_properties: What the producer is told for the pick; None without one.
        nearest_configuration_id: Where no candidate keeps every limit, the one that comes nearest.
        limits_missed: Limits that the pick misses on average over the gain blocks, and by how much; or those that the
            nearest configuration misses in the choice blocks.
        baseline_constraints_broken: Constraints that the baseline, exempt from them, breaks at this record size.
        baseline_in_forbidden: Forbidden regions that the baseline, exempt from them too, lies in.
        baseline_limits_missed: Limits that the baseline, exempt as well, misses on average over the same blocks.
        repetitions_lost_records: The pick's repetitions that lost or duplicated records, in any block.
        baseline_repetitions_lost_records: The same of the baseline.
        repetitions_failed: The pick's repetitions that failed, in any block.
        baseline_repetitions_failed: The same of the baseline, in as many blocks.
        generator_bound: The pick's valid gain repetitions in which the load tool, not Kafka, set the pace.
        baseline_generator_bound: The same of the baseline.
        wanted_effect_fraction: The smallest change that matters, as the study states it; less is no difference.
        blocks_used: Gain blocks in which both the pick and the baseline gave a valid repetition.
    """

    case: str
    recommended_configuration_id: str
    baseline_configuration_id: str
    tentative_configuration_id: str | None
    chosen_by: ChooseBy
    choice_asked_by: ChooseBy
    verdict: Verdict
    reasons: list[str]
    given_up: list[str]
    baseline_properties: dict[str, PropertyValue]
    tentative_properties: dict[str, PropertyValue] | None
    baseline_durability: str
    tentative_durability: str | None
    weaker_than_baseline: bool
    nearest_configuration_id: str | None = None
    limits_missed: list[str] = Field(default_factory=list)
    baseline_constraints_broken: list[str]
    baseline_in_forbidden: list[str] = Field(default_factory=list)
    baseline_limits_missed: list[str] = Field(default_factory=list)
    repetitions_lost_records: int
    baseline_repetitions_lost_records: int
    repetitions_failed: int
    baseline_repetitions_failed: int
    generator_bound: int
    baseline_generator_bound: int
    wanted_effect_fraction: float
    gains: list[Gain]
    blocks_used: int
    minimum_blocks: int

    @property
    def recommended(self) -> bool:
        """Whether a change is recommended; otherwise the baseline stays."""
        return self.verdict == "recommended"

    @property
    def main_gains(self) -> list[Gain]:
        """Of p95 latency and throughput: neither may be shown to be worse."""
        return [gain for gain in self.gains if not objective_named(gain.objective).spread_of]

    @property
    def wanted_gains(self) -> list[Gain]:
        """Of both, and of what the study's order or weights name: one must be better."""
        means = [gain.objective for gain in self.main_gains]
        wanted = (*means, *objectives_named(self.choice_asked_by))
        return [gain for gain in self.gains if gain.objective in wanted]

    @property
    def recommended_properties(self) -> dict[str, PropertyValue]:
        """What the producer should be told: the pick's settings, or the baseline's where it stays."""
        if self.recommended and self.tentative_properties is not None:
            return self.tentative_properties
        return self.baseline_properties


def concluded(decision: Decision) -> Decision:
    """The decision with the verdict that follows from its gains, and from what was lost, failed or missed beside."""
    verdict, reason = _verdict(decision)
    chosen = decision.tentative_configuration_id
    recommended = chosen if verdict == "recommended" and chosen is not None else decision.baseline_configuration_id
    return decision.model_copy(
        update={
            "verdict": verdict,
            "recommended_configuration_id": recommended,
            "reasons": [reason],
            "given_up": _given_up(decision),
        }
    )


def _verdict(decision: Decision) -> tuple[Verdict, str]:
    missed = joined(decision.limits_missed) if decision.limits_missed else ""
    if decision.tentative_configuration_id is None:
        if missed:
            return (
                "keep_baseline_limits_missed",
                "No measured configuration that may be chosen keeps every limit: the nearest, "
                f"{decision.nearest_configuration_id}, misses {missed}.",
            )
        return "keep_baseline_no_gain", "No measured configuration that may be chosen beat the settings in use."
    if lost := decision.repetitions_lost_records:
        return "keep_baseline_lost_records", f"The pick lost or duplicated records in {_count(lost, 'repetition')}."
    if (failed := decision.repetitions_failed) > decision.baseline_repetitions_failed:
        return (
            "keep_baseline_failed_more",
            f"The pick failed in {_count(failed, 'repetition')}, the settings in use in "
            f"{decision.baseline_repetitions_failed}.",
        )
    if decision.blocks_used < decision.minimum_blocks:
        return (
            "keep_baseline_not_enough_evidence",
            f"Not enough evidence: {_count(decision.blocks_used, 'complete block')} measured, the study asks for "
            f"{decision.minimum_blocks}.",
        )
    if missed:
        return "keep_baseline_limits_missed", f"In fresh blocks the pick misses {missed}."
    main, wanted = decision.main_gains, decision.wanted_gains
    better = [label_of(gain.objective) for gain in wanted if gain.resolution == "better"]
    worse = [label_of(gain.objective) for gain in main if gain.resolution == "worse"]
    if worse:
        gained = f", although {joined(better)} improved" if better else ""
        return "keep_baseline_no_gain", f"The pick made {joined(worse)} worse{gained}."
    if not better:
        standing = "; ".join(_standing(gain, decision.wanted_effect_fraction) for gain in wanted)
        return "keep_baseline_no_gain", f"Fresh blocks show no gain: {standing}."
    if unjudged := [label_of(gain.objective) for gain in main if _is_unjudged(gain)]:
        return (
            "keep_baseline_not_enough_evidence",
            f"Not enough evidence: {joined(unjudged)} may have changed, and these blocks have no spread to judge "
            "it by.",
        )
    other = [f"{label_of(g.objective)}: {g.resolution}" for g in wanted if g.resolution != "better"]
    beside = f" ({'; '.join(other)})" if other else ""
    return "recommended", f"Fresh blocks show better {joined(better)}{beside}."


def _is_unjudged(gain: Gain) -> bool:
    """Not resolved and without an interval, though it is not known to be equal."""
    return gain.resolution == "not resolved" and gain.change_low_fraction is None and gain.change_fraction != 0


def _standing(gain: Gain, wanted_effect_fraction: float) -> str:
    label = label_of(gain.objective)
    if gain.resolution == "no difference shown":
        return f"{label} does not differ by more than {wanted_effect_fraction:.0%}"
    return f"{label} is not resolved by this budget"


def _given_up(decision: Decision) -> list[str]:
    sentences = []
    if decision.weaker_than_baseline:
        sentences.append(f"durability: {decision.tentative_durability} instead of {decision.baseline_durability}")
    for gain in decision.gains:
        if gain.resolution == "worse":
            change = "" if gain.change_fraction is None else f" by {abs(gain.change_fraction):.0%}"
            sentences.append(f"{label_of(gain.objective)} is worse{change}")
    return sentences


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
