"""The decision of one record size: its evidence, and the verdict that follows, as codes and numbers. Pure.

The report's room makes sentences of them (`report/reasons.py`).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.decision.choice import MissedLimit
from kafka_pareto.decision.version_3 import decision_of_version_3
from kafka_pareto.kafka.producer_config import DurabilityName, PropertyValue
from kafka_pareto.storage.record import Record
from kafka_pareto.study.constraints import Constraints, ForbiddenRegions
from kafka_pareto.study.driver import objective_named
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.preferences import ChooseBy, objectives_named

Verdict = Literal[
    "recommended",
    "keep_baseline_no_gain",
    "keep_baseline_not_enough_evidence",
    "keep_baseline_lost_records",
    "keep_baseline_failed_more",
    "keep_baseline_limits_missed",
]


class Decision(Record):
    """Holds what is recommended for one case, and its evidence. `gains` compare the pick with the baseline.

    Attributes:
        recommended_configuration_id: The baseline's own id when the baseline stays.
        pick_configuration_id: The pick of the choice blocks; None when none beat the baseline there.
        chosen_by: What the choice went by; `balanced_gain` where the study asks for CVs that are missing.
        choice_asked_by: What the study asks to choose by.
        pick_properties: What the producer is told for the pick; None without one.
        nearest_configuration_id: Where no candidate keeps every limit, the one that comes nearest.
        nearest_configuration: Its factors' values; None in decisions of schema version 3.
        limits_missed: Limits that the pick misses on average over the gain blocks; or those that the nearest
            configuration misses in the choice blocks.
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
    pick_configuration_id: str | None
    chosen_by: ChooseBy
    choice_asked_by: ChooseBy
    verdict: Verdict
    baseline_properties: dict[str, PropertyValue]
    pick_properties: dict[str, PropertyValue] | None
    baseline_durability: DurabilityName
    pick_durability: DurabilityName | None
    weaker_than_baseline: bool
    nearest_configuration_id: str | None = None
    nearest_configuration: dict[str, FactorValue] | None = None
    limits_missed: list[MissedLimit] = Field(default_factory=list)
    baseline_constraints_broken: Constraints
    baseline_in_forbidden: ForbiddenRegions = Field(default_factory=list)
    baseline_limits_missed: list[MissedLimit] = Field(default_factory=list)
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

    @model_validator(mode="before")
    @classmethod
    def _of_version_3(cls, given: Any) -> Any:
        return decision_of_version_3(given)

    @property
    def recommended(self) -> bool:
        """Returns whether a change is recommended; otherwise the baseline stays."""
        return self.verdict == "recommended"

    @property
    def has_enough_blocks(self) -> bool:
        """Returns whether the gain blocks are as many as the study asks for a claim."""
        return self.blocks_used >= self.minimum_blocks

    @property
    def main_gains(self) -> list[Gain]:
        """Returns the gains in the means, of which none may be shown to be worse."""
        return [gain for gain in self.gains if not objective_named(gain.objective).spread_of]

    @property
    def wanted_gains(self) -> list[Gain]:
        """Returns the gains in the means and in what the study chooses by, of which one must be better."""
        means = [gain.objective for gain in self.main_gains]
        wanted = (*means, *objectives_named(self.choice_asked_by))
        return [gain for gain in self.gains if gain.objective in wanted]

    @property
    def better(self) -> list[ObjectiveName]:
        """Names the wanted objectives that the pick was shown to improve."""
        return [gain.objective for gain in self.wanted_gains if gain.resolution == "better"]

    @property
    def worse(self) -> list[ObjectiveName]:
        """Names the means that the pick was shown to harm."""
        return [gain.objective for gain in self.main_gains if gain.resolution == "worse"]

    @property
    def unjudged(self) -> list[ObjectiveName]:
        """Names the means that may have changed, in blocks without the spread to judge it by."""
        return [gain.objective for gain in self.main_gains if _is_unjudged(gain)]

    @property
    def recommended_properties(self) -> dict[str, PropertyValue]:
        """Returns what the producer should be told: the pick's settings, or the baseline's if it stays."""
        if self.recommended and self.pick_properties is not None:
            return self.pick_properties
        return self.baseline_properties


def concluded(decision: Decision) -> Decision:
    """The decision with the verdict that follows from its gains, and from what was lost, failed or missed beside."""
    verdict, chosen = _verdict(decision), decision.pick_configuration_id
    recommended = chosen if verdict == "recommended" and chosen is not None else decision.baseline_configuration_id
    return decision.model_copy(update={"verdict": verdict, "recommended_configuration_id": recommended})


def _verdict(decision: Decision) -> Verdict:
    if decision.pick_configuration_id is None:
        return "keep_baseline_limits_missed" if decision.limits_missed else "keep_baseline_no_gain"
    if decision.repetitions_lost_records:
        return "keep_baseline_lost_records"
    if decision.repetitions_failed > decision.baseline_repetitions_failed:
        return "keep_baseline_failed_more"
    if not decision.has_enough_blocks:
        return "keep_baseline_not_enough_evidence"
    if decision.limits_missed:
        return "keep_baseline_limits_missed"
    if decision.worse or not decision.better:
        return "keep_baseline_no_gain"
    return "keep_baseline_not_enough_evidence" if decision.unjudged else "recommended"


def _is_unjudged(gain: Gain) -> bool:
    """Not resolved and without an interval, though it is not known to be equal."""
    return gain.resolution == "not resolved" and gain.change_low_fraction is None and gain.change_fraction != 0
