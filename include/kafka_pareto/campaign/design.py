"""Latin-hypercube design over a study's mixed factors (McKay, Beckman and Conover, 1979)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from itertools import product

import numpy as np

from kafka_pareto.errors import StudyError
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.constraints import narrowed, satisfies
from kafka_pareto.study.factors import Configuration, Factor, FactorValue, configuration_id
from kafka_pareto.study.tune import Tune

log = logging.getLogger(__name__)

_SWAP_PASSES = 3  # one swap may make another possible
_FRESH_DRAWS = 10_000


def design_size(study: Tune, case: str) -> int:
    """Count the configurations that a case's design will measure, the baseline among them."""
    count = study.design.configurations
    return 1 + (len(one_at_a_time(study, case)) if count is None else count)


def one_at_a_time(study: Tune, case: str) -> list[Configuration]:
    """Return the baseline with one factor changed to each level, or to evenly spaced values, if feasible."""
    baseline, rules = study.baseline_configuration(), study.rules()
    found: dict[str, Configuration] = {}
    for name, factor in study.factors.items():
        count = study.design.levels_per_range if factor.levels is None else len(factor.levels)
        for position in (np.arange(count) + 0.5) / count:
            changed = {**baseline, name: factor.at(float(position))}
            if not study.design.feasible or satisfies(rules, changed, study.variables(case)):
                found[configuration_id(changed)] = changed
    found.pop(study.baseline_id(), None)
    return list(found.values())


def latin_hypercube(
    study: Tune, count: int, case: str, rng: np.random.Generator, beside: Sequence[Configuration] = ()
) -> list[Configuration]:
    """Draw `count` distinct configurations, excluding the baseline and those in `beside`.

    With `design.feasible`, factors are first narrowed to the feasible values, which keeps marginals balanced over
    those. Rows that break constraints between factors, or repeat another row, are repaired by swaps within columns,
    which preserve every marginal; a row beyond repair is redrawn independently and logged. With `strategy: rounds`,
    weaker durability than the study accepts is not drawn. Raises StudyError if there are too few distinct
    configurations.
    """
    from scipy.stats import qmc  # noqa: PLC0415  (takes a second to import, and only drawing needs it)

    factors = dict(study.factors)
    if study.design.feasible:
        factors = narrowed(factors, study.constraints, study.variables(case))
    if study.strategy == "rounds":
        factors = _of_accepted_durability(factors, study)
    positions = qmc.LatinHypercube(d=len(factors), rng=rng).random(count)
    drawn = [{name: factor.at(u) for (name, factor), u in zip(factors.items(), row, strict=True)} for row in positions]
    rows = _Rows(drawn, study, case, [study.baseline_configuration(), *beside])
    for _ in range(_SWAP_PASSES):
        for at in rows.faulty():
            rows.swap_until_sound(at, rng)
    if remaining := rows.faulty():
        log.info("%d of %d configurations for %s were drawn again", len(remaining), count, case_label(case))
    for at in remaining:
        rows.redraw(at, factors, rng)
    return list(rows.rows)


def _of_accepted_durability(factors: dict[str, Factor], study: Tune) -> dict[str, Factor]:
    """Return the factors without levels whose durability is too weak even with all else at the baseline."""
    baseline, weakest = study.baseline_configuration(), study.weakest_durability()
    remaining = dict(factors)
    for name in factors.keys() & study.promises:
        with contextlib.suppress(ValueError):  # no level suffices alone; two factors together may
            remaining[name] = factors[name].within(
                lambda value, name=name: study.durability_of({**baseline, name: value}) >= weakest  # type: ignore[misc]
            )
    return remaining


class _Rows:
    """Drawn rows and their repair. A sound row differs from all others and from `taken`, and is feasible if wanted."""

    def __init__(
        self, rows: list[dict[str, FactorValue]], study: Tune, case: str, taken: Sequence[Configuration]
    ) -> None:
        self.rows, self._study, self._case, self._taken = rows, study, case, taken
        self._variables = study.variables(case)
        self._weakest = study.weakest_durability() if study.strategy == "rounds" else None
        self._rules = study.rules() if study.design.feasible else []

    def is_sound(self, at: int) -> bool:
        row = self.rows[at]
        return (
            satisfies(self._rules, row, self._variables)
            and (self._weakest is None or self._study.durability_of(row) >= self._weakest)
            and row not in self._taken
            and self.rows.count(row) == 1
        )

    def faulty(self) -> list[int]:
        return [at for at in range(len(self.rows)) if not self.is_sound(at)]

    def swap_until_sound(self, at: int, rng: np.random.Generator) -> None:
        """Swap one value with another row's if that makes this row sound and the other no worse."""
        if self.is_sound(at):  # already, by an earlier row's swap
            return
        for other, name in product(rng.permutation(len(self.rows)), self._study.factors):
            was_sound = self.is_sound(other)
            first, second = self.rows[at], self.rows[other]
            first[name], second[name] = second[name], first[name]
            if self.is_sound(at) and (self.is_sound(other) or not was_sound):
                return
            first[name], second[name] = second[name], first[name]

    def redraw(self, at: int, factors: dict[str, Factor], rng: np.random.Generator) -> None:
        for _ in range(_FRESH_DRAWS):
            if self.is_sound(at):
                return
            self.rows[at] = {name: factor.at(rng.random()) for name, factor in factors.items()}
        raise StudyError(
            self._study.name,
            [
                f"design.configurations: {self._study.design.configurations}: there are not as many different"
                f"{' feasible' if self._study.design.feasible else ''} configurations at {case_label(self._case)}"
            ],
        )
