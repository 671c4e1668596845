"""Compare how fast searches over the surrogates converge: `python -m benchmarks.search_convergence [FOLDER]`.

Each search asks the surrogates of a kept campaign of `paper` for as many estimates as the published one: NSGA-III from
the measured design or from random points, pymoo's NSGA-II with the same operators, and random points alone. A volume is
the hypervolume of all configurations estimated so far, as a share of the whole space's, whose configurations are few
enough to be estimated one by one. `docs/results/paper.md` quotes the table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import typer
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from rich.console import Console
from rich.progress import track

from benchmarks.kept_campaign import read_kept
from benchmarks.on_cluster import DATA, Values, clear_errors
from kafka_pareto.search.nsga3 import first_population, new_algorithm, prints_logged
from kafka_pareto.search.pareto_search import hypervolume_indicator
from kafka_pareto.search.surrogate_problem import SurrogateProblem
from kafka_pareto.study.configuration_space import accepted_durabilities
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.surrogate import Estimator, feature_encoding, fit_surrogate, measured_objectives

SEEDS = 10
EVALUATIONS = (92, 184, 368, 736, 1472, 3680, 7360)
NEARLY_ALL = 0.99
_FROM_THE_DESIGN = "NSGA-III from the design"
Search = Callable[["Searched", int], Iterator[int]]
"""Estimates more and more configurations of a problem; yields the number of points after each generation."""


class Searched:
    """The surrogates' problem for one record size of a campaign, with the hypervolume of what is known so far."""

    def __init__(self, folder: Path, case: str, init: Literal["design", "random"] = "random") -> None:
        study, trials, surrogates = _fitted(folder)
        self.study: Tune = study.model_copy(update={"search": study.search.model_copy(update={"init": init})})
        self.trials = trials[trials["case"] == case]
        self.problem = SurrogateProblem(study, case, surrogates, accepted_durabilities(study))
        self._indicator = hypervolume_indicator(self.problem.losses_of(self.trials))

    @property
    def volume(self) -> float:
        """Return the hypervolume of the configurations estimated so far."""
        return float(self._indicator(self.problem.front_losses))

    def estimate_all(self) -> int:
        """Estimate every configuration of the space; return their number."""
        levels = [factor.levels or [] for factor in self.study.factors.values()]
        rows = [dict(zip(self.study.factors, each, strict=True)) for each in product(*levels)]
        points = [point for point in map(self.problem.space.encode, rows) if point is not None]
        self.problem.evaluate(np.array(points))
        return len(points)


def main(folder: Annotated[Path, typer.Argument(help="a kept campaign")] = DATA / "campaigns" / "paper") -> None:
    """Print the volumes by number of points, and the number needed for nearly the whole volume."""
    with clear_errors():
        cases = read_kept(folder).study.cases
        runs = list(product(SEARCHES, cases, range(SEEDS)))
        with ProcessPoolExecutor(2) as pool:
            done = pool.map(_run, *zip(*((folder, *run) for run in runs), strict=True))
            volumes = dict(zip(runs, track(done, "searching", len(runs), console=Console(stderr=True)), strict=True))
    print("\n".join(report(volumes, cases)))


def report(volumes: dict[tuple[str, str, int], dict[int, float]], cases: list[str]) -> list[str]:
    """Return the table in Markdown."""
    lines = [
        "Hypervolume as a share of the whole space's, by number of points: mean (minimum) over "
        f"{len(cases)} record sizes and {SEEDS} seeds. Last column: median number of points.",
        "",
        "| search | " + " | ".join(f"{number:,}" for number in EVALUATIONS) + f" | {NEARLY_ALL:.0%} after |",
        "|" + "---|" * (len(EVALUATIONS) + 2),
    ]
    for name in SEARCHES:
        own = [volumes[name, case, seed] for case in cases for seed in range(SEEDS)]
        reached = np.array([[_at(each, number) for number in EVALUATIONS] for each in own])
        cells = [f"{of_all.mean():.3f} ({of_all.min():.3f})" for of_all in reached.T]
        needed = np.median([_first_with(each, NEARLY_ALL) for each in own])
        lines.append(f"| {name} | {' | '.join(cells)} | {needed:,.0f} |")
    return lines


def _at(volumes: dict[int, float], points: int) -> float:
    """Return the volume once so many points were estimated."""
    return max((volume for number, volume in volumes.items() if number <= points), default=0.0)


def _first_with(volumes: dict[int, float], volume: float) -> float:
    """Return the number of points at which this volume is reached."""
    return min((number for number, found in volumes.items() if found >= volume), default=np.inf)


def _run(folder: Path, name: str, case: str, seed: int) -> dict[int, float]:
    """Return the volumes of a search by number of points, as shares of the whole space's."""
    logging.disable(logging.WARNING)  # pymoo's, on a population below the number of directions, as published
    searched = Searched(folder, case, "design" if name == _FROM_THE_DESIGN else "random")
    volumes: dict[int, float] = {}
    for number in SEARCHES[name](searched, seed):
        volumes[number] = searched.volume / _whole_volume(folder, case)
    return volumes


@cache
def _whole_volume(folder: Path, case: str) -> float:
    whole = Searched(folder, case)
    whole.estimate_all()
    return whole.volume


@cache
def _fitted(folder: Path) -> tuple[Tune, pd.DataFrame, dict[ObjectiveName, Estimator]]:
    """Return a campaign's study, its trials, and the surrogates that all record sizes share."""
    kept = read_kept(folder)
    study, trials = kept.study, kept.design()
    encoding = feature_encoding(study, trials)
    return study, trials, {each: fit_surrogate(study, encoding, trials, each) for each in measured_objectives(trials)}


def _nsga3(searched: Searched, seed: int) -> Iterator[int]:
    return _evolved(searched, new_algorithm(searched.study, searched.problem, _first(searched, seed)), seed)


def _nsga2(searched: Searched, seed: int) -> Iterator[int]:
    search = searched.study.search
    algorithm = NSGA2(
        pop_size=search.population,
        sampling=_first(searched, seed),
        crossover=SBX(prob=search.crossover_probability, eta=search.crossover_eta),
        mutation=PM(prob=search.mutation_probability, eta=search.mutation_eta),
    )
    return _evolved(searched, algorithm, seed)


def _random(searched: Searched, seed: int) -> Iterator[int]:
    rng, search = np.random.default_rng(seed), searched.study.search
    for generation in range(1, search.generations + 1):
        searched.problem.evaluate(rng.random((search.population, len(searched.study.factors))))
        yield generation * search.population


def _first(searched: Searched, seed: int) -> Values:
    generator = np.random.default_rng(seed)
    return first_population(searched.study, searched.problem.space, searched.trials, generator)


def _evolved(searched: Searched, algorithm: Algorithm, seed: int) -> Iterator[int]:
    algorithm.setup(searched.problem, termination=("n_gen", searched.study.search.generations), seed=seed)
    with prints_logged():
        while algorithm.has_next():
            algorithm.next()
            yield algorithm.evaluator.n_eval


SEARCHES: dict[str, Search] = {
    _FROM_THE_DESIGN: _nsga3,
    "NSGA-III from random points": _nsga3,
    "NSGA-II from random points": _nsga2,
    "random points": _random,
}


if __name__ == "__main__":
    typer.run(main)
