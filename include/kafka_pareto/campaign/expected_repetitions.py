"""Computes how many repetitions a campaign can still come to, as its parts end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_pareto.campaign.records import Plan
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune


@dataclass(frozen=True)
class Part:
    """Counts the repetitions of one case in one round, or in the confirmation (`round_number` is None)."""

    case: str
    round_number: int | None
    repetitions: int
    ended: bool


@dataclass(frozen=True)
class ExpectedRepetitions:
    """Holds what a campaign set out to measure.

    Attributes:
        configurations: Number of configurations in the design, the baseline among them, by case.
    """

    study: Study
    plan: Plan
    configurations: Counter[str]

    def most(self, parts: Iterable[Part], spared: int) -> int:
        """Returns the most repetitions that all parts together can still come to, without the noise study's.

        The number falls as parts end: adaptive trials may stop early, and a case at which nothing is picked needs no
        gain blocks.

        Args:
            parts: What was measured so far.
            spared: How often a case has no part in a round.
        """
        most = self.plan.repetitions - self.plan.noise_repetitions - spared * self._most_in_a_round()
        return most - sum(self.most_of(part) - part.repetitions for part in parts if part.ended)

    def likely(self, parts: Iterable[Part], spared: int) -> int:
        """Returns how many all parts together are likely to come to: the most, but for confirmations that go on.

        These take as many as the ended ones did on average; before any has ended, as many as their study lets expect.

        Args:
            parts: What was measured so far.
            spared: How often a case has no part in a round.
        """
        parts, study = list(parts), self.study
        if not isinstance(study, Tune):
            return self.most(parts, spared)
        confirming = {part.case: part for part in parts if part.round_number is None}
        ended = [part.repetitions for part in confirming.values() if part.ended]
        likely = self.most(parts, spared)
        for case in self.study.cases:
            part = confirming.get(case) or Part(case, None, 0, ended=False)
            if not part.ended:
                most = self.most_of(part)
                of_study = study.confirmation.likely_repetitions(advice=study.advice)
                typical = round(sum(ended) / len(ended)) if ended else of_study
                likely -= most - min(max(typical, part.repetitions), most)
        return likely

    def most_of(self, part: Part) -> int:
        """Returns the most repetitions that one part can come to."""
        if part.round_number is None and isinstance(self.study, Tune):
            confirmation = self.study.confirmation
            before_final_blocks = (confirmation.points + 1) * confirmation.choice_blocks + 2 * confirmation.gain_blocks
            return self.plan.confirmation_repetitions.get(part.case, before_final_blocks)
        if part.round_number:
            return self._most_in_a_round()
        return self.configurations[part.case] * self.study.protocol.repetitions

    def _most_in_a_round(self) -> int:
        if not isinstance(self.study, Tune):
            return 0
        return (self.study.rounds.configurations + 1) * self.study.protocol.repetitions
