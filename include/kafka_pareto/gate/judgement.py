"""Judge a candidate by the study's conditions, after any number of blocks.

The intervals of means are anytime-valid (`analysis.sequential`), so measuring may stop as soon as they decide. A CV
across repetitions is judged only after all blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kafka_pareto.analysis.gains import paired_values
from kafka_pareto.analysis.repetition_values import is_mean, paired, smallest_value
from kafka_pareto.analysis.sequential import (
    half_width,
    log_mean,
    log_ratio_of_cvs,
    log_ratio_of_means,
    may_show,
)
from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.counts import Counts, counts_of
from kafka_pareto.gate.gate_study import candidate_of, levels_of
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.objectives import Condition, ObjectiveName
from kafka_pareto.study.tune import Tune

Verdict = Literal["holds", "broken", "undecided"]

# The spread of fewer blocks is too uncertain to give up.
_BLOCKS_TO_GIVE_UP = 10


class JudgedCondition(Frozen):
    """A condition in one case.

    Attributes:
        condition: As in the study.
        value: The candidate's geometric mean, in the objective's unit, or its ratio to the reference's if
            `of_reference`; None without enough blocks, as are the ends of its interval.
        confidence: Of the interval; those of all conditions and cases hold jointly at 95 %, those of means at any
            stopping time, those of CVs across repetitions after all blocks.
        blocks: With valid repetitions of both.
    """

    condition: str
    objective: ObjectiveName
    of_reference: bool
    verdict: Verdict
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    blocks: int


class JudgedCase(Frozen):
    """One case: `broken` if a condition is, or for the `harm` listed; else `holds` if all conditions do.

    Attributes:
        doubts: What keeps it from holding, although it is not significant.
        may_be_decided: Whether the study's remaining blocks are likely enough to decide it.
    """

    case: str
    verdict: Verdict
    conditions: list[JudgedCondition]
    harm: list[str]
    doubts: list[str]
    blocks: int
    may_be_decided: bool


def judge(
    study: Tune, case: str, repetitions: Sequence[Repetition], discarded: Sequence[Repetition] = ()
) -> JudgedCase:
    """Judge all conditions of a study made by `gate_study` by one case's repetitions, in measuring order.

    Rejected repetitions (`discarded`) count for disruptions of the cluster only.
    """
    reference_id, candidate_id = study.baseline_id(case), candidate_of(study).configuration_id
    sides = paired(reference_id, candidate_id, repetitions)
    *levels, of_failures = levels_of(study)
    blocks, most = len({each.block for each in repetitions}), study.gate.blocks
    estimates = [
        _estimate(condition, *sides, study, level, is_last=blocks >= most)
        for condition, level in zip(study.gate.conditions, levels, strict=True)
    ]
    verdicts = [each.verdict for each in estimates]
    candidate, reference = (counts_of(each, repetitions, discarded=discarded) for each in (candidate_id, reference_id))
    harm, doubts = _harm(candidate, reference, of_failures / most)
    verdict: Verdict = "broken" if harm or "broken" in verdicts else "holds"
    if verdict == "holds" and (doubts or "undecided" in verdicts):
        verdict = "undecided"
    left = [each for each in estimates if each.verdict == "undecided"]
    more = most - blocks
    return JudgedCase(
        case=case,
        verdict=verdict,
        conditions=[each.judged for each in estimates],
        harm=harm,
        doubts=doubts,
        blocks=blocks,
        may_be_decided=bool(left)
        and more > 0
        and (
            blocks < _BLOCKS_TO_GIVE_UP
            or all(each.may_hold(more) for each in left)
            or any(each.may_break(more) for each in left)
        ),
    )


@dataclass(frozen=True)
class _Estimate:
    """The log of a condition's value, and its standard deviation in one block; not finite if unknown."""

    condition: Condition
    log_value: float
    sd: float
    blocks: int
    level: float
    may_be_judged: bool

    @property
    def half_width(self) -> float:
        return self.sd * float(half_width(self.blocks, self.level)) if self.blocks else float("inf")

    @property
    def distance(self) -> float:
        """Return the distance from the bound, positive on the side where the condition holds."""
        above = self.log_value - float(np.log(self.condition.bound))
        return above if is_maximised(self.condition.objective) else -above

    @property
    def verdict(self) -> Verdict:
        if not self.may_be_judged:
            return "undecided"
        if self.distance > self.half_width:
            return "holds"
        return "broken" if -self.distance > self.half_width else "undecided"

    @property
    def judged(self) -> JudgedCondition:
        ends = [self.log_value, self.log_value - self.half_width, self.log_value + self.half_width]
        value, low, high = (float(np.exp(each)) if np.isfinite(each) else None for each in ends)
        return JudgedCondition(
            condition=str(self.condition),
            objective=self.condition.objective,
            of_reference=self.condition.of_reference,
            verdict=self.verdict,
            value=value,
            low=low,
            high=high,
            confidence=1 - self.level,
            blocks=self.blocks,
        )

    def may_hold(self, more: int) -> bool:
        """Return whether so many more blocks are likely enough to show that the condition holds."""
        return self._may_show(self.distance, more)

    def may_break(self, more: int) -> bool:
        """Return the same for a broken condition."""
        return self._may_show(-self.distance, more)

    def _may_show(self, distance: float, more: int) -> bool:
        if not np.isfinite([distance, self.sd]).all():
            return True
        return may_show(distance, self.sd, self.blocks, self.blocks + more, self.level)


def _estimate(
    condition: Condition,
    reference: Sequence[Repetition],
    candidate: Sequence[Repetition],
    study: Tune,
    level: float,
    *,
    is_last: bool,
) -> _Estimate:
    objective, protocol = condition.objective, study.protocol
    of_reference, of_candidate, _ = paired_values(objective, reference, candidate, protocol)
    resolution, of_mean = 2 * smallest_value(objective, protocol), is_mean(objective, protocol.variability)
    if not of_mean:
        log_value, sd = log_ratio_of_cvs(of_reference, of_candidate)
    elif condition.of_reference:
        log_value, sd = log_ratio_of_means(of_reference, of_candidate, resolution)
    else:
        log_value, sd = log_mean(of_candidate, resolution)
    return _Estimate(condition, log_value, sd, len(of_candidate), level, may_be_judged=of_mean or is_last)


def _harm(candidate: Counts, reference: Counts, level: float) -> tuple[list[str], list[str]]:
    """Return harm at any speed, and doubts.

    Harm is lost or duplicated records, or significantly more failures and disruptions than the reference's; a doubt is
    more of them.
    """
    lost = candidate.lost_records
    harm = [f"records were lost or duplicated in {counted(lost, 'repetition')}"] if lost else []
    if candidate.failed_or_upset <= reference.failed_or_upset:
        return harm, []
    failed = counted(candidate.failed_or_upset, "attempt")
    text = f"{failed} failed or disrupted the cluster, versus {reference.failed_or_upset:,} of the reference"
    p_value = candidate.failing_more_p_value(reference)
    return (harm, [text]) if p_value is None or p_value >= level else ([*harm, text], [])
