"""Remaining repetitions and time of a campaign; `python -m benchmarks.time_left` replays kept campaigns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import mean

from kafka_pareto.campaign.records import Plan
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune

# From the kept campaigns, on two cores: task start with imports; validate to propose; the report.
TASK_START_S = 6.0
ANALYSIS_S = 30.0
REPORT_S = 30.0
# Repetitions of a fixed number of records get shorter as the search improves.
_LATER_FRACTION = 0.8
# Weight of the plan in repetitions: over all cases, and within each.
_PLAN_COUNTS_AS, _ALL_CASES_COUNT_AS = 4, 8
# 90 % of estimates are within this factor.
_OFF_BY = 1.5
# A longer gap between two repetitions is an interruption.
_LONGEST_INTERVAL = 10
# 36 of 43 cases in the kept campaigns had another round after the first.
_ANOTHER_ROUND_FRACTION = 0.84


@dataclass(frozen=True)
class Part:
    """Measurements of one case in one round, or in the confirmation (`round_number` is None)."""

    case: str
    round_number: int | None
    stored_at: tuple[datetime, ...]
    ended: bool

    @property
    def repetitions(self) -> int:
        """Return the number stored."""
        return len(self.stored_at)


@dataclass(frozen=True)
class Work:
    """Likely remaining work of one part: a mean number, and the probability of an undecided round."""

    case: str
    round_number: int | None
    repetitions: float
    likelihood: float
    is_begun: bool


@dataclass(frozen=True)
class ExpectedRepetitions:
    """A campaign's planned measurements, with each case's design size (baseline included).

    Methods take the known parts, and the cases of every decided round.
    """

    study: Study
    plan: Plan
    configurations: Counter[str]

    def most(self, parts: Sequence[Part], cases_of_rounds: Mapping[int, Sequence[str]]) -> int:
        """Return the upper bound of repetitions without the noise study's; it falls as parts end early."""
        spared = sum(len(self.study.cases) - len(cases) for cases in cases_of_rounds.values())
        most = self.plan.repetitions - self.plan.noise_repetitions - spared * self._most_in_a_round()
        return most - sum(self.most_of(part) - part.repetitions for part in parts if part.ended)

    def likely(self, parts: Sequence[Part], cases_of_rounds: Mapping[int, Sequence[str]]) -> int:
        """Return the expected number of repetitions over all parts."""
        to_come = sum(work.repetitions for work in self.to_come(parts, cases_of_rounds))
        return sum(part.repetitions for part in parts) + round(to_come)

    def to_come(self, parts: Sequence[Part], cases_of_rounds: Mapping[int, Sequence[str]]) -> list[Work]:
        """List the work likely left, in pipeline order; an undecided round counts with its observed frequency."""
        known = {(part.case, part.round_number): part for part in parts}

        def part_of(case: str, number: int | None) -> Part:
            return known.get((case, number)) or Part(case, number, (), ended=False)

        decided = {0: self.study.cases, **cases_of_rounds}
        works = [self._work(part_of(case, number), 1.0) for number, cases in decided.items() for case in cases]
        confirming = any(part.round_number is None and (part.repetitions or part.ended) for part in parts)
        likelihood = len(decided[max(decided)]) / len(self.study.cases)
        for number in [] if confirming else [each for each in self.study.round_numbers() if each not in decided]:
            likelihood *= _ANOTHER_ROUND_FRACTION if number > 1 else 1.0
            works += [self._work(part_of(case, number), likelihood) for case in self.study.cases]
        if isinstance(self.study, Tune):
            ended = [part.repetitions for part in parts if part.round_number is None and part.ended]
            works += [self._confirmation(part_of(case, None), self.study, ended) for case in self.study.cases]
        return [work for work in works if work.repetitions > 0]

    def most_of(self, part: Part) -> int:
        """Return the upper bound of one part's repetitions."""
        if part.round_number is None and isinstance(self.study, Tune):
            return self.plan.confirmation_repetitions[part.case]
        if part.round_number:
            return self._most_in_a_round()
        return self.configurations[part.case] * self.study.protocol.repetitions

    def _work(self, part: Part, likelihood: float) -> Work:
        left = 0 if part.ended else max(self.most_of(part) - part.repetitions, 0)
        return Work(part.case, part.round_number, left * likelihood, likelihood, part.repetitions > 0)

    def _confirmation(self, part: Part, study: Tune, ended: Sequence[int]) -> Work:
        """Return a confirmation's work; beyond its expected length, one more block is assumed."""
        most = self.most_of(part)
        has_active = most > study.confirmation.most_repetitions(advice=study.advice)
        typical = mean(ended) if ended else study.confirmation.likely_repetitions(has_active, study.advice)
        of_a_block = 2 + has_active + study.advice
        left = min(max(typical - part.repetitions, of_a_block), most - part.repetitions)
        return Work(part.case, None, 0.0 if part.ended else max(left, 0.0), 1.0, part.repetitions > 0)

    def _most_in_a_round(self) -> int:
        if not isinstance(self.study, Tune):
            return 0
        return (self.study.rounds.configurations + 1) * self.study.protocol.repetitions


@dataclass(frozen=True)
class TimeLeft:
    """An estimate in seconds with its 90 % range."""

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
    """Estimate the time until the report is written."""
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
    """Measured times relative to the planned ones."""

    def __init__(self, expected: ExpectedRepetitions, parts: Sequence[Part], began: datetime) -> None:
        self._expected = expected
        begun = sorted((part for part in parts if part.stored_at), key=lambda part: part.stored_at)
        self.last = max([began, *(part.stored_at[-1] for part in begun)])
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._planned_s: defaultdict[str, float] = defaultdict(float)
        for part in begun:
            planned_s = self._planned_repetition_s(part.case, part.round_number)
            for before, after in pairwise(part.stored_at):
                self._took_s[part.case] += min((after - before).total_seconds(), _LONGEST_INTERVAL * planned_s)
                self._planned_s[part.case] += planned_s
        cases = expected.study.cases
        mean_s = sum(self._planned_repetition_s(case, 0) for case in cases) / len(cases)
        prior_s = _PLAN_COUNTS_AS * mean_s
        self._factor = (sum(self._took_s.values()) + prior_s) / (sum(self._planned_s.values()) + prior_s)
        self._starts, self.analysis_s = self._gaps(begun)

    def repetition_s(self, case: str, round_number: int | None) -> float:
        """Return the time of one repetition."""
        planned_s = self._planned_repetition_s(case, round_number)
        prior_s = _ALL_CASES_COUNT_AS * self._planned_repetition_s(case, 0)
        return planned_s * (self._took_s[case] + prior_s * self._factor) / (self._planned_s[case] + prior_s)

    def start_s(self, work: Work) -> float:
        """Return the time before a part's first repetition."""
        return self._planned_start_s(work.case, work.round_number) * self._starts

    def _gaps(self, begun: Sequence[Part]) -> tuple[float, float]:
        """Return the ratio of actual to planned starts, and the analysis time."""
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
        return took_s / planned_s, mean(analyses)

    def _planned_repetition_s(self, case: str, round_number: int | None) -> float:
        is_shorter = round_number != 0 and self._expected.study.protocol.takes_less_if_faster
        return self._expected.plan.repetition_s[case] * (_LATER_FRACTION if is_shorter else 1.0)

    def _planned_start_s(self, case: str, round_number: int | None) -> float:
        return TASK_START_S + (self._expected.plan.start_s[case] if round_number == 0 else 0.0)
