"""Group repetitions of a block that share a slow start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.study.factors import Configuration


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
