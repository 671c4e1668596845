"""Freezes what others advise at the start of a campaign: what comes to the folder later changes it no more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.advice import Advice, configuration_advised
from kafka_pareto.study.factors import Configuration, configuration_id, distinct
from kafka_pareto.study.tune import Tune

NO_ROOM = "the design is too small for it"


class InCase(Frozen):
    """Holds what becomes of an advice in one case: what is measured, or why nothing is."""

    case: str
    configuration: Configuration | None
    left_out: str = ""


class AdviceInCases(Frozen):
    """Holds an advice, and what becomes of it in each case."""

    advice: Advice
    cases: list[InCase]


class FollowedAdvice(Record):
    """Holds all advice of a campaign."""

    followed: list[AdviceInCases]

    def configurations(self, case: str) -> list[Configuration]:
        """Returns the configurations to be measured in this case, each once, in the order of the advice."""
        found = (each.configuration for one in self.followed for each in one.cases if each.case == case)
        return distinct(each for each in found if each is not None)

    def titles(self, case: str) -> dict[str, list[str]]:
        """Maps the ids of these configurations to the titles of who advises them."""
        titles: dict[str, list[str]] = {}
        for one in self.followed:
            for each in one.cases:
                if each.case == case and each.configuration is not None:
                    titles.setdefault(configuration_id(each.configuration), []).append(one.advice.title)
        return titles


def followed_advice(campaign: Campaign) -> FollowedAdvice:
    """Returns what the campaign follows; nothing where its study asks for none."""
    if not campaign.tune.advice:
        return FollowedAdvice(followed=[])
    return campaign.read_record(campaign.keys.advice(), FollowedAdvice)


def follow(study: Tune, advice: Sequence[Advice]) -> FollowedAdvice:
    """Says of each advice on the study's driver what the study measures of it, in each of its cases.

    Advice takes at most two thirds of a design: surrogates must learn of what nobody advises, too. Where there is more,
    what is meant for throughput, for latency and for both takes turns.
    """
    in_turn = _in_turn([one for one in advice if one.driver == study.driver])
    room = 2 * (study.design.configurations or 0) // 3
    of_cases = [[_in_case(study, case, one) for one in in_turn] for case in study.cases]
    roomy = [_within(found, room) for found in of_cases]
    return FollowedAdvice(
        followed=[AdviceInCases(advice=one, cases=list(cases)) for one, *cases in zip(in_turn, *roomy, strict=True)]
    )


def _in_turn(advice: Sequence[Advice]) -> list[Advice]:
    ends = ("throughput", "latency", "balance")
    by_end = [[one for one in advice if one.meant_for == end] for end in ends]
    return [one for one in chain.from_iterable(zip_longest(*by_end)) if one is not None]


def _in_case(study: Tune, case: str, advice: Advice) -> InCase:
    found = configuration_advised(study, case, advice)
    if isinstance(found, str):
        return InCase(case=case, configuration=None, left_out=found)
    return InCase(case=case, configuration=found)


def _within(found: Sequence[InCase], room: int) -> list[InCase]:
    """Leaves out what the design has no room for; two that advise the same take one place."""
    taken: set[str] = set()
    kept = []
    for each in found:
        if each.configuration is not None:
            identity = configuration_id(each.configuration)
            if identity not in taken and len(taken) == room:
                kept.append(InCase(case=each.case, configuration=None, left_out=NO_ROOM))
                continue
            taken.add(identity)
        kept.append(each)
    return kept
