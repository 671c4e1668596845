"""The Latin-hypercube design over a study's mixed factors (McKay, Beckman and Conover, 1979). Pure; no I/O."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import qmc

from kafka_pareto.artifacts import DESIGN_COLUMNS, table_schema
from kafka_pareto.errors import StudyError
from kafka_pareto.factors import Configuration, Factor, FactorValue, configuration_id, narrowed, satisfies
from kafka_pareto.study import Study

_REPAIR_PASSES = 200
_FRESH_DRAWS = 10_000


def design_table(study: Study) -> pd.DataFrame:
    """The design of all record sizes, the baseline first in each.

    Each record size has a generator of its own, spawned from the study's seed: the design of one size does not change
    when others are left out.

    Returns:
        A frame with `DESIGN_COLUMNS` and one column per factor.

    Raises:
        StudyError: If the feasible space of a record size holds fewer configurations than the design wants.
    """
    constraints = study.parsed_constraints()
    rows: list[dict[str, object]] = []
    for size in study.record_sizes_bytes:
        rng = np.random.default_rng([study.seed, size])
        drawn = (
            one_at_a_time(study, size)
            if study.design.configurations is None
            else latin_hypercube(study, study.design.configurations, size, rng)
        )
        for configuration in [study.baseline_configuration(), *drawn]:
            identity = configuration_id(configuration)
            rows.append(
                {
                    "record_size_bytes": size,
                    "configuration_id": identity,
                    "is_baseline": identity == study.baseline_id(),
                    "feasible": satisfies(constraints, configuration, size),
                    "durability": study.durability_of(configuration).name,
                    **configuration,
                }
            )
    return pd.DataFrame(rows, columns=table_schema(DESIGN_COLUMNS, study).names)


def one_at_a_time(study: Study, record_size_bytes: int) -> list[Configuration]:
    """The baseline with one factor changed: to each of its levels, or to evenly spaced values of its range.

    With `design.feasible`, what breaks a constraint at this record size is left out.
    """
    baseline = study.baseline_configuration()
    found: dict[str, Configuration] = {}
    for name, factor in study.factors.items():
        count = study.design.levels_per_range if factor.levels is None else len(factor.levels)
        for position in (np.arange(count) + 0.5) / count:
            changed = {**baseline, name: factor.at(float(position))}
            if not study.design.feasible or satisfies(study.parsed_constraints(), changed, record_size_bytes):
                found[configuration_id(changed)] = changed
    found.pop(study.baseline_id(), None)
    return list(found.values())


def latin_hypercube(study: Study, count: int, record_size_bytes: int, rng: np.random.Generator) -> list[Configuration]:
    """Draws `count` different configurations, none of them the baseline.

    With `design.feasible`, each factor is first narrowed to what the constraints leave of it at this record size, so
    that its marginal is balanced over what is possible; constraints between factors are then met by swapping values
    within columns, which leaves every marginal as it was drawn.

    Raises:
        StudyError: If there are not as many different configurations.
    """
    names = list(study.factors)
    factors = dict(study.factors)
    if study.design.feasible:
        factors = narrowed(factors, study.parsed_constraints(), record_size_bytes)
    positions = qmc.LatinHypercube(d=len(names), rng=rng).random(count)
    columns = {name: [factors[name].at(u) for u in positions[:, at]] for at, name in enumerate(names)}
    rows: list[dict[str, FactorValue]] = [{name: columns[name][row] for name in names} for row in range(count)]
    _repair(rows, factors, study, record_size_bytes, rng)
    return list(rows)


def _repair(
    rows: list[dict[str, FactorValue]],
    factors: dict[str, Factor],
    study: Study,
    record_size_bytes: int,
    rng: np.random.Generator,
) -> None:
    """Makes the rows different from each other and the baseline, and feasible where the study wants that."""

    def is_feasible(row: Configuration) -> bool:
        return not study.design.feasible or satisfies(study.parsed_constraints(), row, record_size_bytes)

    def faulty() -> list[int]:
        seen = {study.baseline_id()}
        found = []
        for at, row in enumerate(rows):
            identity = configuration_id(row)
            if identity in seen or not is_feasible(row):
                found.append(at)
            seen.add(identity)
        return found

    remaining = faulty()
    for _ in range(_REPAIR_PASSES):
        if not remaining:
            return
        at, other = int(rng.choice(remaining)), int(rng.integers(len(rows)))
        name = str(rng.choice(list(factors)))
        rows[at][name], rows[other][name] = rows[other][name], rows[at][name]
        after = faulty()
        if len(after) > len(remaining):
            rows[at][name], rows[other][name] = rows[other][name], rows[at][name]
        else:
            remaining = after
    for _ in range(_FRESH_DRAWS):
        if not remaining:
            return
        rows[remaining[0]] = {name: factor.at(rng.random()) for name, factor in factors.items()}
        remaining = faulty()
    raise StudyError(
        study.name,
        [
            f"design.configurations: {study.design.configurations}: there are not as many different"
            f"{' feasible' if study.design.feasible else ''} configurations at record size {record_size_bytes}"
        ],
    )
