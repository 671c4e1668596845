"""Computes how many repetitions a campaign can still come to, as its parts end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kafka_pareto.campaign.records import Plan
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune

# Of 43 decisions in the kept campaigns whether a case measures another round after its first one, 36 were for it.
_ANOTHER_ROUND_FRACTION = 0.84


@dataclass(frozen=True)
class Part:
    """Holds what was measured of one case in one round, or in the confirmation (`round_number` is None).

    Attributes:
        stored_at: When each repetition was stored, in order.
    """

    case: str
    round_number: int | None
    stored_at: tuple[datetime, ...]
    ended: bool

    @property
    def repetitions(self) -> int:
        """Returns how many were stored."""
        return len(self.stored_at)


@dataclass(frozen=True)
class Work:
    """Holds what one part is still likely to measure.

    Attributes:
        repetitions: A mean; no whole number.
        likelihood: The probability that there will be the part at all: a round that is not decided may be left out.
        is_begun: Whether a repetition of the part is stored.
    """

    case: str
    round_number: int | None
    repetitions: float
    likelihood: float
    is_begun: bool


@dataclass(frozen=True)
class ExpectedRepetitions:
    """Holds what a campaign set out to measure.

    Methods take the known parts, and the cases of every round that is decided (none of one that is left out).

    Attributes:
        configurations: Number of configurations in the design, the baseline among them, by case.
    """

    study: Study
    plan: Plan
    configurations: Counter[str]

    def most(self, parts: Sequence[Part], cases_of_rounds: Mapping[int, Sequence[str]]) -> int:
        """Returns the most repetitions that all parts together can still come to, without the noise study's.

        The number falls as parts end: adaptive trials may stop early, and a case at which nothing is picked needs no
        gain blocks.
        """
        spared = sum(len(self.study.cases) - len(cases) for cases in cases_of_rounds.values())
        most = self.plan.repetitions - self.plan.noise_repetitions - spared * self._most_in_a_round()
        return most - sum(self.most_of(part) - part.repetitions for part in parts if part.ended)

    def likely(self, parts: Sequence[Part], cases_of_rounds: Mapping[int, Sequence[str]]) -> int:
        """Returns how many repetitions all parts together are likely to come to."""
        to_come = sum(work.repetitions for work in self.to_come(parts, cases_of_rounds))
        return sum(part.repetitions for part in parts) + round(to_come)

    def to_come(self, parts: Sequence[Part], cases_of_rounds: Mapping[int, Sequence[str]]) -> list[Work]:
        """Lists what is likely to be measured yet, in the order of the pipeline.

        A confirmation that goes on takes as many repetitions as the ended ones did on average; before any has ended, as
        many as its study lets expect. A round that is not decided is measured with the probability seen so far.
        """
        known = {(part.case, part.round_number): part for part in parts}
        works = [
            self._work(known.get((case, number)) or Part(case, number, (), ended=False), 1.0)
            for number, cases in {0: self.study.cases, **cases_of_rounds}.items()
            for case in cases
        ]
        confirming = any(part.round_number is None and (part.repetitions or part.ended) for part in parts)
        undecided = [number for number in self.study.round_numbers()[1:] if number not in cases_of_rounds]
        going_on = cases_of_rounds[max(cases_of_rounds)] if cases_of_rounds else self.study.cases
        likelihood = len(going_on) / len(self.study.cases)
        for number in [] if confirming else undecided:
            likelihood *= _ANOTHER_ROUND_FRACTION if number > 1 else 1.0
            works += [self._work(Part(case, number, (), ended=False), likelihood) for case in self.study.cases]
        if isinstance(self.study, Tune):
            ended = [part.repetitions for part in parts if part.round_number is None and part.ended]
            for case in self.study.cases:
                part = known.get((case, None)) or Part(case, None, (), ended=False)
                works.append(self._confirmation(part, self.study, ended))
        return [work for work in works if work.repetitions > 0]

    def most_of(self, part: Part) -> int:
        """Returns the most repetitions that one part can come to."""
        if part.round_number is None and isinstance(self.study, Tune):
            return self.plan.confirmation_repetitions[part.case]
        if part.round_number:
            return self._most_in_a_round()
        return self.configurations[part.case] * self.study.protocol.repetitions

    def _work(self, part: Part, likelihood: float) -> Work:
        left = 0 if part.ended else max(self.most_of(part) - part.repetitions, 0)
        return Work(part.case, part.round_number, left * likelihood, likelihood, part.repetitions > 0)

    def _confirmation(self, part: Part, study: Tune, ended: Sequence[int]) -> Work:
        """Returns what a confirmation still takes.

        One that has passed what it was expected to take is in its last blocks, and measures at least one more.
        """
        most = self.most_of(part)
        in_force = most > study.confirmation.most_repetitions(advice=study.advice)
        of_study = study.confirmation.likely_repetitions(in_force, study.advice)
        typical = sum(ended) / len(ended) if ended else of_study
        of_a_block = 2 + in_force + study.advice
        left = min(max(typical - part.repetitions, of_a_block), most - part.repetitions)
        return Work(part.case, None, 0.0 if part.ended else max(left, 0.0), 1.0, part.repetitions > 0)

    def _most_in_a_round(self) -> int:
        if not isinstance(self.study, Tune):
            return 0
        return (self.study.rounds.configurations + 1) * self.study.protocol.repetitions
