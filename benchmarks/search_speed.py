"""Measure the cost of the search, compared with its parts: `python -m benchmarks.search_speed`.

The first part is pymoo's own NSGA-III on an objective that costs almost nothing (DTLZ2), with the population,
directions, operators and generations of the study `paper`. The second part is bare predictions of as many rows by the
same four surrogates: a batch for each generation, or one row at a time. There are two spaces. In the paper's levels, a
search of 7,360 evaluations meets each configuration many times and estimates it once. In ranges, almost nothing
repeats, so this saves nothing. All figures are CPU seconds of one thread, the median over interleaved rounds.
"""

from __future__ import annotations

import contextlib
import io
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

import numpy as np
import numpy.typing as npt
import pandas as pd
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.problems.many.dtlz import DTLZ2
from pymoo.util.ref_dirs import get_reference_directions

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.search.pareto_search import search
from kafka_pareto.study.configuration_space import ConfigurationSpace
from kafka_pareto.study.factors import NumericFactor
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sections import Search
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.surrogate import Surrogate, feature_encoding, fit_surrogate
from tests.recorded import paper_study, recorded_repetitions

_CASE = "8192"
_ROUNDS = 5
_LONG_ROUNDS = 3
_TIMES_AS_LONG = 10

Rows = npt.NDArray[np.float64]
Surrogates = Mapping[ObjectiveName, Surrogate]


def main() -> None:
    """Print the CPU seconds of every part, and the ratios."""
    logging.disable(logging.WARNING)  # pymoo repeats its remark on the paper's population for each search
    paper, trials, surrogates = _trained()
    ranges = _with_ranges(paper)
    rows = _rows(ranges, surrogates)
    seconds = _medians(
        _ROUNDS,
        {
            "pymoo": partial(_pymoo_alone, paper.search),
            "batches": partial(_predict_in_batches, surrogates, rows, paper.search.population),
            "singly": partial(_predict_in_batches, surrogates, rows, 1),
            "levels": partial(search, paper, _CASE, surrogates, trials),
            "ranges": partial(search, ranges, _CASE, surrogates, trials),
        },
    )
    longer = _medians(
        _LONG_ROUNDS,
        {
            "levels": partial(search, _longer(paper), _CASE, surrogates, trials),
            "ranges": partial(search, _longer(ranges), _CASE, surrogates, trials),
        },
    )
    _print_report(seconds, longer, len(rows))


def _print_report(seconds: Mapping[str, float], longer: Mapping[str, float], evaluations: int) -> None:
    print(f"CPU seconds of {evaluations:,} evaluations (median of {_ROUNDS} interleaved rounds)")
    print(f"  pymoo's NSGA-III, objective free          {seconds['pymoo']:7.2f}")
    print(f"  bare predictions, a batch per generation  {seconds['batches']:7.2f}")
    print(f"  bare predictions, one row at a time       {seconds['singly']:7.2f}")
    print(f"  this search over the paper's levels       {seconds['levels']:7.2f}")
    print(f"  this search over ranges                   {seconds['ranges']:7.2f}")
    bare, singly = seconds["pymoo"] + seconds["batches"], seconds["pymoo"] + seconds["singly"]
    print(f"{'ratio':<54} {'levels':>7} {'ranges':>7}   bound")
    _print_ratios("this search / (pymoo + predictions in batches)", lambda space: seconds[space] / bare, "<= 1.5")
    _print_ratios("(pymoo + one prediction at a time) / this search", lambda space: singly / seconds[space], ">= 5")
    per_evaluation = f"cost per evaluation of a search {_TIMES_AS_LONG} x as long / this one"
    _print_ratios(per_evaluation, lambda space: longer[space] / _TIMES_AS_LONG / seconds[space], "about 1")


def _print_ratios(name: str, ratio: Callable[[str], float], bound: str) -> None:
    print(f"  {name:<52} {ratio('levels'):7.2f} {ratio('ranges'):7.2f}   {bound}")


def _trained() -> tuple[Tune, pd.DataFrame, Surrogates]:
    """Return the study, one record size's trials, and surrogates trained on all record sizes."""
    study = paper_study()
    trials = summarise_trials(recorded_repetitions(tuple(study.cases)), study)
    encoding = feature_encoding(study, trials)
    surrogates = {
        objective: fit_surrogate(study, encoding, trials, objective) for objective in PRODUCER.objective_names
    }
    return study, trials[trials["case"] == _CASE], surrogates


def _with_ranges(study: Tune) -> Tune:
    ranges = {
        "batch.size": NumericFactor(type="integer", low=1024, high=262144, scale="log"),
        "linger.ms": NumericFactor(type="integer", low=0, high=100),
    }
    return study.model_copy(update={"factors": {**study.factors, **ranges}})


def _longer(study: Tune) -> Tune:
    parameters = study.search.model_copy(update={"generations": study.search.generations * _TIMES_AS_LONG})
    return study.model_copy(update={"search": parameters})


def _rows(study: Tune, surrogates: Surrogates) -> Rows:
    """Return as many encoded rows as the search makes evaluations, at random points."""
    evaluations = study.search.population * study.search.generations
    points = np.random.default_rng(study.seed).random((evaluations, len(study.factors)))
    frame = pd.DataFrame(ConfigurationSpace(study.factors).columns(points))
    frame["case"] = _CASE
    encoded: Rows = surrogates["p95_latency_ms"].encoding.encode(frame).to_numpy()
    return encoded


def _pymoo_alone(parameters: Search) -> None:
    directions = get_reference_directions(
        "das-dennis", len(PRODUCER.objective_names), n_partitions=parameters.reference_partitions
    )
    with contextlib.redirect_stdout(io.StringIO()):
        algorithm = NSGA3(
            ref_dirs=directions,
            pop_size=parameters.population,
            crossover=SBX(prob=parameters.crossover_probability, eta=parameters.crossover_eta),
            mutation=PM(prob=parameters.mutation_probability, eta=parameters.mutation_eta),
        )
        problem = DTLZ2(n_var=4, n_obj=len(PRODUCER.objective_names))
        algorithm.setup(problem, termination=("n_gen", parameters.generations), seed=1, verbose=False)
        algorithm.run()


def _predict_in_batches(surrogates: Surrogates, rows: Rows, batch: int) -> None:
    for start in range(0, len(rows), batch):
        for surrogate in surrogates.values():
            surrogate.predict_encoded(rows[start : start + batch])


def _medians(rounds: int, parts: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median CPU seconds of each part; a round runs every part once, so that drift spreads evenly."""
    times: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(rounds):
        for name, part in parts.items():
            began = time.process_time()
            part()
            times[name].append(time.process_time() - began)
    return {name: median(values) for name, values in times.items()}


if __name__ == "__main__":
    main()
