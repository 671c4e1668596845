"""The order of repetitions within a phase."""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.measurement.blocks import PlannedRepetition, plan_blocks

pytestmark = pytest.mark.fast

CANDIDATES = [Candidate(f"c{n}", is_baseline=n == 0, configuration={"linger.ms": n}) for n in range(6)]


def plan(order: str, seed: int = 42) -> list[PlannedRepetition]:
    return plan_blocks(CANDIDATES, 4, order=order, phase="design", case="1024", seed=seed)


def test_each_block_holds_every_candidate_once_in_an_order_of_its_own():
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
