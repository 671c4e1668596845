"""The order of repetitions within a phase."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest

from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.measurement.blocks import PlannedRepetition, grouped, plan_blocks

pytestmark = pytest.mark.fast

CANDIDATES = [Candidate(f"c{n}", is_baseline=n == 0, configuration={"linger.ms": n}) for n in range(6)]


def plan(order: str, seed: int = 42) -> list[PlannedRepetition]:
    return plan_blocks(CANDIDATES, 4, order=order, phase="design", case="1024", seed=seed)


def test_each_block_has_every_candidate_once_in_its_own_order():
    orders = [tuple(p.candidate.configuration_id for p in plan("blocks")[at : at + 6]) for at in range(0, 24, 6)]

    assert all(sorted(order) == [f"c{n}" for n in range(6)] for order in orders)
    assert len(set(orders)) == 4


def test_sequential_measures_all_repetitions_of_a_candidate_after_each_other():
    ids = [p.candidate.configuration_id for p in plan("sequential")]

    assert ids == [f"c{n}" for n in range(6) for _ in range(4)]
    assert [p.block for p in plan("sequential")][:4] == [0, 1, 2, 3]


def test_ids_are_unique_and_say_phase_round_size_block_and_configuration():
    planned = plan("blocks")

    assert max(Counter(p.repetition_id for p in planned).values()) == 1
    assert "design-r00-1024-b003-c5" in {p.repetition_id for p in planned}


def test_the_order_follows_from_the_seed():
    assert plan("blocks") == plan("blocks")
    assert plan("blocks") != plan("blocks", seed=43)


def test_members_of_a_group_follow_each_other_and_groups_and_members_are_in_random_order():
    planned = plan_blocks(CANDIDATES, 20, order="blocks", phase="design", case="volumes", seed=7)
    found = grouped(planned, lambda configuration: str(configuration["linger.ms"] % 2))

    assert {each.repetition_id for each in found} == {each.repetition_id for each in planned}
    orders = []
    for block, members in groupby(found, lambda each: each.block):
        there = list(members)
        assert [each.order_in_block for each in there] == list(range(6)), block
        groups = [each.candidate.configuration["linger.ms"] % 2 for each in there]
        assert [len(list(of_group)) for _, of_group in groupby(groups)] == [3, 3]
        orders.append(tuple(each.candidate.configuration_id for each in there))
    assert len({order[0][-1] in "024" for order in orders}) == 2
    assert len(set(orders)) > 10


def test_one_group_for_all_changes_nothing():
    assert grouped(plan("blocks"), lambda _: "") == plan("blocks")
