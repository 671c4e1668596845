"""Repetitions of a block that share what takes long to start follow each other."""

from __future__ import annotations

from itertools import groupby

import pytest

from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.measurement.block_groups import grouped
from kafka_pareto.measurement.blocks import plan_blocks

pytestmark = pytest.mark.fast

CANDIDATES = [
    Candidate(f"c{number}", is_baseline=number == 0, configuration={"topology": f"t{number % 2}", "orders": number})
    for number in range(6)
]
PLANNED = plan_blocks(CANDIDATES, 20, order="blocks", phase="design", case="volumes", seed=7)


def test_members_of_a_group_follow_each_other_and_groups_and_members_are_in_random_order() -> None:
    found = grouped(PLANNED, lambda configuration: str(configuration["topology"]))

    assert {each.repetition_id for each in found} == {each.repetition_id for each in PLANNED}
    orders = []
    for block, members in groupby(found, lambda each: each.block):
        there = list(members)
        assert [each.order_in_block for each in there] == list(range(6)), block
        groups = [each.candidate.configuration["topology"] for each in there]
        assert [len(list(of_group)) for _, of_group in groupby(groups)] == [3, 3]
        orders.append(tuple(each.candidate.configuration_id for each in there))
    assert len({order[0][-1] in "024" for order in orders}) == 2
    assert len(set(orders)) > 10


def test_one_group_for_all_changes_nothing() -> None:
    assert grouped(PLANNED, lambda _: "") == PLANNED
