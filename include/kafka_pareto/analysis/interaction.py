"""Estimates how the effect of one factor depends on another's level, from a grid measured in blocks. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from kafka_pareto.analysis.ratios import ByBlock, Ratio, geometric_ratio
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.study.factors import FactorValue

Combination: TypeAlias = tuple[FactorValue, FactorValue]


def interactions(grid: Mapping[Combination, ByBlock], reference: Combination) -> dict[Combination, Ratio]:
    """Returns, for each combination of two changed levels, its ratio over the product of both levels' own ratios.

    With `y(a, b)` the value at a combination and `r` the reference's levels, it is
    `y(a, b) y(r, r) / (y(a, r) y(r, b))`: 1 where the factors do not interact, above 1 where together they bring more
    than each alone promises. It is the interaction contrast of a 2 x 2 table on the log scale (Montgomery, Design and
    Analysis of Experiments, 8th ed., section 5.1). Each block that measured all four gives one contrast; Student's
    interval and test are on these.

    Args:
        grid: The values by block of each combination.
        reference: The combination of both reference levels.

    Returns:
        The combinations in the grid's order, without those that no block measured with all four, and those with a value
        of zero or below.
    """
    found = {}
    for combination in grid:
        if combination[0] == reference[0] or combination[1] == reference[1]:
            continue
        corners = (combination, reference, (combination[0], reference[1]), (reference[0], combination[1]))
        contrasts = _contrasts([grid.get(corner, {}) for corner in corners])
        if len(contrasts):
            found[combination] = geometric_ratio(contrasts)
    return found


def _contrasts(corners: list[ByBlock]) -> Values:
    blocks = sorted(set.intersection(*(set(corner) for corner in corners)))
    values = np.array([[corner[block] for block in blocks] for corner in corners])
    # A ratio to zero is none, and to leave out only the blocks with a zero would flatter.
    if not blocks or np.min(values) <= 0:
        return np.array([])
    both, neither, first, second = np.log(values)
    contrasts: Values = both + neither - first - second
    return contrasts
