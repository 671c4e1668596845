"""How many repetitions a campaign can still come to, as its parts end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kafka_pareto.campaign.records import Plan
from kafka_pareto.study.study import Study


@dataclass(frozen=True)
class Part:
    """The repetitions of one record size in one round, or in the confirmation (`round_number` is None)."""

    case: str
    round_number: int | None
    repetitions: int
    ended: bool


@dataclass(frozen=True)
class ExpectedRepetitions:
    """What a campaign set out to do.

    Attributes:
        configurations: How many the design measures, the baseline among them, by record size.
    """

    study: Study
    plan: Plan
    configurations: Counter[str]

    def most(self, parts: Iterable[Part], spared: int) -> int:
        """The most repetitions that all parts together can still come to; those of the noise study are not counted.

        It falls as parts end: adaptive trials may stop early, and what keeps the baseline needs no gain blocks.

        Args:
            parts: What was measured so far.
            spared: How often a record size has no part in a round.
        """
        most = self.plan.repetitions - self.plan.noise_repetitions - spared * self._most_in_a_round()
        return most - sum(self.most_of(part) - part.repetitions for part in parts if part.ended)

    def most_of(self, part: Part) -> int:
        """The most repetitions that one part can come to."""
        if part.round_number is None:
            return self.study.confirmation.most_repetitions()
        if part.round_number:
            return self._most_in_a_round()
        return self.configurations[part.case] * self.study.protocol.repetitions

    def _most_in_a_round(self) -> int:
        return (self.study.rounds.configurations + 1) * self.study.protocol.repetitions
