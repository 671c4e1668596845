"""Removal of levels that the measuring machine cannot handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.overrides import Override
from kafka_pareto.study.parts import Grid, Part, Series, Table, Variants

_AnyCompare = TypeVar("_AnyCompare", bound=Compare)
_FEWEST_LEVELS = 2


def without_impossible(
    study: _AnyCompare, fault_of: Callable[[Configuration], str]
) -> tuple[_AnyCompare, list[Override]]:
    """Return the study without the levels that cannot be measured here, and the reason for each.

    A part with fewer than two levels left is dropped. Grids and series are never cut.

    Raises:
        BadInputError: If a reference or a level of a grid or series cannot be measured here, or no part is left.
    """
    told: list[Override] = []
    kept: list[Part] = []
    for part in study.parts:
        levels = study.levels_of(part.part)
        faults = [fault_of(level) for level in levels]
        places = [place for place, fault in enumerate(faults) if not fault]
        if len(places) == len(levels):
            kept.append(part)
            continue
        reference = study.baseline_configuration(part.part)
        missing = next(fault for fault in faults if fault)
        if isinstance(part, Grid | Series) or reference not in [levels[place] for place in places]:
            raise BadInputError(f"study {study.name}: part {part.part}: cannot be measured here: {missing}")
        told += [
            Override(key=f"part {part.part}", of_file=name, of_campaign=f"left out: {fault}")
            for name, fault in zip(_names(part), faults, strict=True)
            if fault
        ]
        if len(places) >= _FEWEST_LEVELS:
            kept.append(part.only(places))
    if not told:
        return study, told
    if not kept:
        raise BadInputError(f"study {study.name}: nothing is left to compare: {'; '.join(map(str, told))}")
    update = {
        "variants": [part for part in kept if isinstance(part, Variants)],
        "tables": [part for part in kept if isinstance(part, Table)],
    }
    return study.model_copy(update=update), told


def _names(part: Table | Variants) -> list[str]:
    return list(part.variants) if isinstance(part, Variants) else [str(level) for level in part.levels]
