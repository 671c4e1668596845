"""Published advice, frozen at the start of a campaign."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.advice import Advice, configuration_advised
from kafka_pareto.study.factors import Configuration, configuration_id, distinct
from kafka_pareto.study.tune import Tune

NO_ROOM = "the design is too small for it"


class InCase(Frozen):
    """The configuration measured for an advice in one case, or why there is none."""

    case: str
    configuration: Configuration | None
    left_out: str = ""


class AdviceInCases(Frozen):
    """An advice and its outcome in each case."""

    advice: Advice
    cases: list[InCase]


class FollowedAdvice(Record):
    """All advice of a campaign."""

    followed: list[AdviceInCases]

    def configurations(self, case: str) -> list[Configuration]:
        """Return the distinct configurations to measure in this case, in the order of the advice."""
        found = (each.configuration for one in self.followed for each in one.cases if each.case == case)
        return distinct(each for each in found if each is not None)

    def titles(self, case: str) -> dict[str, list[str]]:
        """Map the IDs of these configurations to the titles of their sources."""
        titles: dict[str, list[str]] = {}
        for one in self.followed:
            for each in one.cases:
                if each.case == case and each.configuration is not None:
                    titles.setdefault(configuration_id(each.configuration), []).append(one.advice.title)
        return titles


def followed_advice(campaign: Campaign) -> FollowedAdvice:
    """Return the campaign's advice; empty if its study wants none."""
    if not campaign.tune.advice:
        return FollowedAdvice(followed=[])
    return campaign.read_record(campaign.keys.advice(), FollowedAdvice)


def follow(study: Tune, advice: Sequence[Advice]) -> FollowedAdvice:
    """Return the configurations that the study measures for each advice on its driver, per case.

    Advice fills at most two thirds of a design, since surrogates must also learn from other points; if there is more,
    throughput, latency and balance alternate.
    """
    ends = ("throughput", "latency", "balance")
    by_end = [[one for one in advice if one.driver == study.driver and one.meant_for == end] for end in ends]
    in_turn = [one for one in chain.from_iterable(zip_longest(*by_end)) if one is not None]
    of_cases = zip(*(_in_case(study, case, in_turn) for case in study.cases), strict=True)
    return FollowedAdvice(
        followed=[AdviceInCases(advice=one, cases=list(cases)) for one, cases in zip(in_turn, of_cases, strict=True)]
    )


def _in_case(study: Tune, case: str, advice: Sequence[Advice]) -> Iterator[InCase]:
    room, taken = 2 * (study.design.configurations or 0) // 3, set[str]()
    for one in advice:
        found = configuration_advised(study, case, one)
        if not isinstance(found, str) and len(taken | {configuration_id(found)}) > room:
            found = NO_ROOM
        if isinstance(found, str):
            yield InCase(case=case, configuration=None, left_out=found)
        else:
            taken.add(configuration_id(found))
            yield InCase(case=case, configuration=found)
