"""Bring repetitions of a block together that share what takes long to start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.study.factors import Configuration


def grouped(planned: Sequence[PlannedRepetition], group_of: Callable[[Configuration], str]) -> list[PlannedRepetition]:
    """Return the plan with the members of a group after each other within each block.

    Where the order of a block is random, so are that of its groups and that within each: a group takes the place of its
    first member.

    Args:
        planned: In the order of measuring.
        group_of: Names a configuration's group; one name for all changes nothing.
    """
    arranged: list[PlannedRepetition] = []
    for _, members in groupby(planned, lambda each: each.block):
        block = list(members)
        groups = list(dict.fromkeys(group_of(each.candidate.configuration) for each in block))
        together = sorted(block, key=lambda each: groups.index(group_of(each.candidate.configuration)))
        arranged += [replace(each, order_in_block=place) for place, each in enumerate(together)]
    return arranged
