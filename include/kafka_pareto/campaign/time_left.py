"""Estimates how long a campaign still takes, from its plan and from when its repetitions were stored. Pure.

`python -m benchmarks.time_left` replays the kept campaigns: their estimates at each moment beside the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from kafka_pareto.campaign.expected_repetitions import ExpectedRepetitions, Part, Work

# Seen in the kept campaigns, on two cores: a task starts, imports and opens its system; one stage's repetitions are
# checked, learned from and searched before the next begins; the last tables, figures and files are written.
TASK_START_S = 6.0
ANALYSIS_S = 30.0
REPORT_S = 30.0
# Repetitions of a fixed number of records are shorter once the search has found better configurations than its first.
_LATER_FRACTION = 0.8
# What was planned counts as much as so many repetitions, over all cases and within each.
_PLAN_COUNTS_AS, _ALL_CASES_COUNT_AS = 4, 8
# Nine of ten estimates are within this factor.
_OFF_BY = 1.4
# A longer time between two repetitions is an interruption, and no pace.
_LONGEST_INTERVAL = 10


@dataclass(frozen=True)
class TimeLeft:
    """Holds an estimate in seconds, and the range in which the time left is in nine of ten cases."""

    likely_s: float
    low_s: float
    high_s: float


def time_left(
    expected: ExpectedRepetitions,
    parts: Sequence[Part],
    cases_of_rounds: Mapping[int, Sequence[str]],
    began: datetime,
    now: datetime,
) -> TimeLeft:
    """Estimates the time until the report is written.

    Args:
        expected: What the campaign set out to measure.
        parts: What was measured of it.
        cases_of_rounds: The cases of each round that is decided.
        began: When the campaign began, or went on.
        now: The moment of the estimate.
    """
    pace = _Pace(expected, parts, began)
    to_come = expected.to_come(parts, cases_of_rounds)
    stages = {part.round_number for part in parts if part.repetitions}
    left_s = REPORT_S
    next_s = REPORT_S
    for number, work in enumerate(to_come):
        analysis_s = pace.analysis_s * work.likelihood if work.round_number not in {*stages, 0} else 0.0
        stages.add(work.round_number)
        start_s = 0.0 if work.is_begun else pace.start_s(work) * work.likelihood
        repetition_s = pace.repetition_s(work.case, work.round_number)
        left_s += analysis_s + start_s + work.repetitions * repetition_s
        if not number:
            next_s = analysis_s + start_s + repetition_s
    idle_s = max((now - pace.last).total_seconds(), 0.0)
    # Overdue work has no known end; assume a quarter of the elapsed time.
    likely_s = max(left_s - min(idle_s, next_s), idle_s / 4, 1.0)
    return TimeLeft(likely_s, likely_s / _OFF_BY, likely_s * _OFF_BY)


class _Pace:
    """Learns from what was measured how its times compare with the planned ones.

    Attributes:
        last: When the last thing happened.
        analysis_s: The time between the last repetition of a stage and the start of the next one's first task.
    """

    def __init__(self, expected: ExpectedRepetitions, parts: Sequence[Part], began: datetime) -> None:
        self._expected = expected
        begun = sorted((part for part in parts if part.stored_at), key=lambda part: part.stored_at)
        self.last = max([began, *(part.stored_at[-1] for part in begun)])
        self._took_s: dict[str, float] = {}
        self._planned_s: dict[str, float] = {}
        for part in begun:
            planned_s = self._planned_repetition_s(part.case, part.round_number)
            for before, after in pairwise(part.stored_at):
                took_s = min((after - before).total_seconds(), _LONGEST_INTERVAL * planned_s)
                self._took_s[part.case] = self._took_s.get(part.case, 0.0) + took_s
                self._planned_s[part.case] = self._planned_s.get(part.case, 0.0) + planned_s
        took_s = sum(self._took_s.values())
        cases = expected.study.cases
        mean_s = sum(self._planned_repetition_s(case, 0) for case in cases) / len(cases)
        prior_s = _PLAN_COUNTS_AS * mean_s
        self._factor = (took_s + prior_s) / (sum(self._planned_s.values()) + prior_s)
        self._starts, self.analysis_s = self._gaps(begun)

    def repetition_s(self, case: str, round_number: int | None) -> float:
        """Returns the time of one repetition."""
        planned_s = self._planned_repetition_s(case, round_number)
        prior_s = _ALL_CASES_COUNT_AS * self._planned_repetition_s(case, 0)
        took_s, of_plan_s = self._took_s.get(case, 0.0), self._planned_s.get(case, 0.0)
        return planned_s * (took_s + prior_s * self._factor) / (of_plan_s + prior_s)

    def start_s(self, work: Work) -> float:
        """Returns the time before a part's first repetition."""
        return self._planned_start_s(work.case, work.round_number) * self._starts

    def _gaps(self, begun: Sequence[Part]) -> tuple[float, float]:
        """Returns how starts compare with the planned ones, and the time of an analysis."""
        took_s = planned_s = TASK_START_S
        analyses = [ANALYSIS_S]
        for before, after in pairwise(begun):
            own_s = self._planned_start_s(after.case, after.round_number)
            gap_s = (after.stored_at[0] - before.stored_at[-1]).total_seconds()
            gap_s -= self.repetition_s(after.case, after.round_number)
            if after.round_number != before.round_number:
                analyses.append(min(max(gap_s - own_s, 0.0), _LONGEST_INTERVAL * ANALYSIS_S))
            else:
                took_s += min(max(gap_s, 0.0), _LONGEST_INTERVAL * own_s)
                planned_s += own_s
        return took_s / planned_s, sum(analyses) / len(analyses)

    def _planned_repetition_s(self, case: str, round_number: int | None) -> float:
        is_shorter = round_number != 0 and self._expected.study.protocol.takes_less_if_faster
        return self._expected.plan.repetition_s[case] * (_LATER_FRACTION if is_shorter else 1.0)

    def _planned_start_s(self, case: str, round_number: int | None) -> float:
        return TASK_START_S + (self._expected.plan.start_s[case] if round_number == 0 else 0.0)
