"""The repetitions of a phase, in an order that follows from the seed alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, get_args

import numpy as np

from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.records import Phase
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.factors import Configuration


@dataclass(frozen=True)
class PlannedRepetition:
    """One repetition to be measured; its ID is stable across task restarts."""

    phase: Phase
    round_number: int
    case: str
    candidate: Candidate
    block: int
    order_in_block: int

    @property
    def repetition_id(self) -> str:
        """Return the ID: phase, round, case, block and configuration."""
        return f"{self.phase}-r{self.round_number:02d}-{self.case}-b{self.block:03d}-{self.candidate.configuration_id}"


def plan_blocks(
    candidates: Sequence[Candidate],
    blocks: int,
    *,
    order: Literal["blocks", "sequential"],
    phase: Phase,
    case: str,
    seed: int,
    round_number: int = 0,
    first_block: int = 0,
) -> list[PlannedRepetition]:
    """List every repetition of a phase in measuring order.

    `blocks`: each block contains every candidate once, in its own random order, which spreads drift evenly.
    `sequential`: all repetitions of a candidate after each other, as in the paper. Blocks are numbered from
    `first_block` on.
    """
    planned: list[PlannedRepetition] = []
    for block in range(first_block, first_block + blocks):
        rng = np.random.default_rng([seed, case_seed(case), round_number, get_args(Phase).index(phase), block])
        arrangement = rng.permutation(len(candidates)) if order == "blocks" else np.arange(len(candidates))
        planned += [
            PlannedRepetition(phase, round_number, case, candidates[at], block, place)
            for place, at in enumerate(arrangement)
        ]
    if order == "sequential":
        planned.sort(key=lambda repetition: (repetition.order_in_block, repetition.block))
    return planned


def grouped(planned: Sequence[PlannedRepetition], group_of: Callable[[Configuration], str]) -> list[PlannedRepetition]:
    """Return the plan with each block's groups kept together, in the place of their first member.

    A random order within the block stays random among groups and within each. `group_of` names a configuration's group;
    a single name changes nothing.
    """
    arranged: list[PlannedRepetition] = []
    for _, members in groupby(planned, lambda each: each.block):
        block = list(members)
        groups = list(dict.fromkeys(group_of(each.candidate.configuration) for each in block))
        together = sorted(block, key=lambda each: groups.index(group_of(each.candidate.configuration)))
        arranged += [replace(each, order_in_block=place) for place, each in enumerate(together)]
    return arranged
