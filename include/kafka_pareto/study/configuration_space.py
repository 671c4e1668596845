"""Unit cube of a study's factors, and the durability of configurations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.factors import Column, Configuration, Factor, FactorValue, Positions
from kafka_pareto.study.tune import Tune

Row: TypeAlias = tuple[FactorValue, ...]


class ConfigurationSpace:
    """Maps factors to a unit cube; coordinates are the positions that `Factor.at` reads."""

    def __init__(self, factors: Mapping[str, Factor]) -> None:
        self._factors = factors

    def columns(self, points: Positions) -> dict[str, Column]:
        """Return one column of values per factor, from points of shape (n, factors)."""
        return {name: factor.column(points[:, at]) for at, (name, factor) in enumerate(self._factors.items())}

    def decode(self, points: Positions) -> list[Configuration]:
        """Return the configurations at points of shape (n, factors)."""
        return [dict(zip(self._factors, row, strict=True)) for row in rows_of(self.columns(points))]

    def encode(self, configuration: Mapping[Any, FactorValue]) -> Positions | None:
        """Return a point that decodes to this configuration; None if it is outside the space."""
        point = np.array([_position(factor, configuration[name]) for name, factor in self._factors.items()])
        is_inside = not np.isnan(point).any() and dict(self.decode(point[None])[0]) == dict(configuration)
        return point if is_inside else None


def rows_of(columns: Mapping[str, Column]) -> list[Row]:
    """Return the configurations of these columns as tuples of plain values in factor order."""
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


def durability_column(study: Tune, columns: Mapping[str, Column]) -> list[Durability]:
    """Return each configuration's durability, computed once per combination of the deciding factors."""
    names = [name for name in columns if name in study.promises]
    if not names:
        return [study.durability_of({})] * len(next(iter(columns.values())))
    deciding = rows_of({name: columns[name] for name in names})
    table = {values: study.durability_of(dict(zip(names, values, strict=True))) for values in set(deciding)}
    return [table[values] for values in deciding]


def reachable_durabilities(study: Tune) -> list[Durability]:
    """List the durabilities that the factors can reach, weakest first."""
    names = [name for name in study.factors if name in study.promises]
    choices = itertools.product(*(study.factors[name].extremes() for name in names))
    return sorted({study.durability_of(dict(zip(names, values, strict=True))) for values in choices})


def accepted_durabilities(study: Tune) -> list[Durability]:
    """List the reachable durabilities that the study accepts."""
    return [durability for durability in reachable_durabilities(study) if durability >= study.weakest_durability()]


def _position(factor: Factor, value: FactorValue) -> float:
    """Return a position at which `Factor.at` has this value; NaN for an unlisted level."""
    if factor.levels is not None:
        levels: list[FactorValue] = list(factor.levels)
        return (levels.index(value) + 0.5) / len(levels) if value in levels else math.nan
    low, high, number = float(factor.low or 0), float(factor.high or 0), float(value)
    if factor.scale == "log":
        return math.log(number / low) / math.log(high / low) if number > 0 else math.nan
    if factor.type == "integer":
        return (number - low + 0.5) / (high - low + 1)
    return (number - low) / (high - low)
