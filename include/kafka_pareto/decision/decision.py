"""The decision of one case, evidence and verdict, as codes and numbers; `report/reasons.py` turns them into text."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.decision.against_advice import AgainstAdvice
from kafka_pareto.decision.choice import MissedLimit
from kafka_pareto.decision.counts import Counts
from kafka_pareto.decision.harm import harm_not_excluded
from kafka_pareto.kafka.known_properties import Durability, DurabilityName, PropertyValue
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.constraints import Constraints, ForbiddenRegions
from kafka_pareto.study.declarations import objective_named
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.identifiers import DEFAULT_DRIVER
from kafka_pareto.study.objectives import ChooseBy, ObjectiveName, objectives_named

Verdict = Literal[
    "recommended",
    "ask_a_person",
    "keep_no_gain",
    "keep_harmed",
    "keep_not_enough_evidence",
    "keep_lost_records",
    "keep_failed_more",
    "keep_limits_missed",
]
Outcome = Literal["changed", "kept", "undecided"]


class ActiveReference(Frozen):
    """Active settings other than the baseline, and which rules of today's study they break."""

    version: int
    campaign: str
    configuration_id: str
    configuration: dict[str, FactorValue]
    properties: dict[str, PropertyValue]
    durability: DurabilityName
    constraints_broken: Constraints = Field(default_factory=list)
    in_forbidden: ForbiddenRegions = Field(default_factory=list)
    durability_accepted: bool = True


class FoundActiveSettings(Record):
    """The settings active in one case when its confirmation began; decided once.

    Attributes:
        newest_version: 0 if there was none. None in confirmations begun by a release without this check; they resume
            without final blocks.
        settings: None if the baseline is active, or the active settings do not count for the reasons in `left_out`.
    """

    newest_version: int | None = 0
    settings: ActiveReference | None = None
    left_out: list[str] = Field(default_factory=list)


class Decision(Record):
    """The recommendation for one case, and its evidence.

    The pick is compared with the reference: the active settings (`in_force`), or else the baseline. With `keep_…` the
    reference stays. The baseline is exempt from constraints, forbidden regions and limits.

    Attributes:
        pick_configuration_id: The baseline's if it beat the active settings; None if nothing beat the reference.
        chosen_by: `balanced_gain` if the study asks for CVs that are missing; else as `choice_asked_by`.
        driver: Whose defaults unset settings have; the producer's in old decisions.
        newest_version: The active version when the confirmation began, 0 for none; None in old decisions.
        in_force_left_out: Why active settings do not count.
        limits_missed: By the pick on average over its last blocks, or by the nearest configuration in the choice
            blocks.
        gains: The pick against the reference in all fresh blocks; all claims are based on their intervals.
        gains_over_baseline: The pick against the baseline, so that small losses of several versions do not add up;
            empty if the baseline is the reference or the pick.
        blocks_used: Fresh blocks with a valid repetition of both pick and reference, `final_blocks` among them.
        advice: None without advice in the fresh blocks. Where the pick may be worse than it, the pick needs approval.
        holds_for: The clients it is valid for; `other_study` covers the others. May be empty.
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
    states_durability: bool = True
    driver: str = DEFAULT_DRIVER
    weaker_than_baseline: bool
    newest_version: int | None = None
    in_force: ActiveReference | None = None
    in_force_left_out: list[str] = Field(default_factory=list)
    nearest_configuration_id: str | None = None
    nearest_configuration: dict[str, FactorValue] | None = None
    limits_missed: list[MissedLimit] = Field(default_factory=list)
    baseline_constraints_broken: Constraints
    baseline_in_forbidden: ForbiddenRegions = Field(default_factory=list)
    baseline_limits_missed: list[MissedLimit] = Field(default_factory=list)
    in_force_limits_missed: list[MissedLimit] = Field(default_factory=list)
    pick_counts: Counts
    baseline_counts: Counts
    in_force_counts: Counts | None = None
    wanted_effect_fraction: float
    harm_margin_fraction: float
    gains: list[Gain]
    gains_over_baseline: list[Gain] = Field(default_factory=list)
    blocks_used: int
    final_blocks: int = 0
    minimum_blocks: int
    stopping: Literal["fixed", "sequential"] = "fixed"
    advice: AgainstAdvice | None = None
    holds_for: str = ""
    other_study: str = ""

    @property
    def recommended(self) -> bool:
        """Return whether a change is recommended that needs no approval."""
        return self.verdict == "recommended"

    @property
    def offered(self) -> bool:
        """Return whether the pick may become active, automatically or after approval."""
        return self.verdict in ("recommended", "ask_a_person")

    @property
    def outcome(self) -> Outcome:
        """Return whether a change is recommended, the reference stays for a reason, or neither is shown."""
        if self.recommended:
            return "changed"
        if self.verdict in ("ask_a_person", "keep_not_enough_evidence"):
            return "undecided"
        is_open = self.verdict == "keep_no_gain" and not self.no_difference
        return "undecided" if is_open and self.pick_configuration_id is not None else "kept"

    @property
    def no_difference(self) -> bool:
        """Return whether no mean has a relevant difference."""
        return bool(self.gains) and all(gain.lies_within(self.wanted_effect_fraction) for gain in self.main_gains)

    @property
    def is_answered(self) -> bool:
        """Return whether sequential blocks may end: better without harm, worse, or no relevant difference.

        More blocks may still settle what would need approval, or a gain of CVs alone, whose interval does not allow a
        look after every block.
        """
        if self.verdict == "recommended":
            return any(gain.resolution == "better" for gain in self.main_gains)
        if self.verdict == "keep_no_gain":
            return self.no_difference
        return self.verdict in ("keep_harmed", "keep_lost_records", "keep_failed_more")

    @property
    def is_rejected(self) -> bool:
        """Return whether the evidence is against the pick: it is answered, but not recommended."""
        return self.is_answered and self.verdict != "recommended"

    @property
    def is_disqualified(self) -> bool:
        """Return whether the pick may not be recommended, whatever its gains: lost records, failures, missed limits."""
        return self.verdict in ("keep_lost_records", "keep_failed_more", "keep_limits_missed")

    @property
    def shows_a_change(self) -> bool:
        """Return whether a mean is claimed to be better or worse, which final blocks must confirm."""
        changed = any(gain.resolution in ("better", "worse") for gain in self.main_gains)
        return self.offered or (changed and self.verdict in ("keep_harmed", "keep_no_gain"))

    @property
    def has_enough_blocks(self) -> bool:
        """Return whether the blocks suffice for a claim under the study's rules."""
        return self.blocks_used >= self.minimum_blocks

    @property
    def reference_configuration_id(self) -> str:
        """Return the reference's ID."""
        return self.in_force.configuration_id if self.in_force else self.baseline_configuration_id

    @property
    def reference_properties(self) -> dict[str, PropertyValue]:
        """Return all properties of the reference."""
        return self.in_force.properties if self.in_force else self.baseline_properties

    @property
    def reference_durability(self) -> DurabilityName:
        """Return the reference's durability guarantee."""
        return self.in_force.durability if self.in_force else self.baseline_durability

    @property
    def reference_counts(self) -> Counts:
        """Return the outcomes of the reference's repetitions."""
        return self.baseline_counts if self.in_force_counts is None else self.in_force_counts

    @property
    def weaker_than_active(self) -> bool:
        """Return whether the pick guarantees less than active settings other than the baseline."""
        if self.in_force is None or self.pick_durability is None:
            return False
        return Durability[self.pick_durability] < Durability[self.in_force.durability]

    @property
    def active_breaks_rules(self) -> bool:
        """Return whether the active settings lost records or break a rule of today's study; the baseline is exempt."""
        found = self.in_force
        if found is None:
            return False
        broken = found.constraints_broken or found.in_forbidden or self.in_force_limits_missed
        return bool(broken) or not found.durability_accepted or self.reference_counts.lost_records > 0

    @property
    def main_gains(self) -> list[Gain]:
        """Return the gains in the means, none of which may be harmed."""
        return [gain for gain in self.gains if not objective_named(gain.objective).spread_of]

    @property
    def wanted_gains(self) -> list[Gain]:
        """Return the gains in the means and in the criterion's objectives, of which one must be better."""
        means = [gain.objective for gain in self.main_gains]
        wanted = (*means, *objectives_named(self.choice_asked_by))
        return [gain for gain in self.gains if gain.objective in wanted]

    @property
    def better(self) -> list[ObjectiveName]:
        """Return the wanted objectives that the pick improves significantly."""
        return [gain.objective for gain in self.wanted_gains if gain.resolution == "better"]

    @property
    def harm_not_excluded(self) -> list[Gain]:
        """Return the means that may be worse by more than the margin."""
        return harm_not_excluded(self.main_gains, self.harm_margin_fraction)

    @property
    def harm_over_baseline_not_excluded(self) -> list[Gain]:
        """Return the means that may be worse than the baseline's by more than the margin."""
        means = {gain.objective for gain in self.main_gains}
        beside = [gain for gain in self.gains_over_baseline if gain.objective in means]
        return harm_not_excluded(beside, self.harm_margin_fraction)

    @property
    def losses_to_advice(self) -> list[Gain]:
        """Return the means that may be worse than the advice's by more than the margin; empty if one is better."""
        advice = self.advice
        if advice is None or advice.in_place_of is not None or not advice.may_be_worse(self.harm_margin_fraction):
            return []
        return harm_not_excluded(advice.gains, self.harm_margin_fraction)

    @property
    def harmed(self) -> list[ObjectiveName]:
        """Return the means that are significantly worse, possibly by more than the margin."""
        return [gain.objective for gain in self.harm_not_excluded if gain.resolution == "worse"]

    @property
    def unjudged(self) -> list[ObjectiveName]:
        """Return the means without an interval because of too few blocks."""
        return [gain.objective for gain in self.main_gains if gain.is_unjudged]

    @property
    def fails_more(self) -> bool:
        """Return whether more of the pick's attempts failed or upset the cluster than of the reference's."""
        return self.pick_counts.failed_or_upset > self.reference_counts.failed_or_upset

    @property
    def recommended_properties(self) -> dict[str, PropertyValue]:
        """Return the properties producers should use: the pick's, or the reference's if it stays."""
        if self.recommended and self.pick_properties is not None:
            return self.pick_properties
        return self.reference_properties
