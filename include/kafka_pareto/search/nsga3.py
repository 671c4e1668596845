"""Set up pymoo's NSGA-III for a study (Deb and Jain, IEEE TEVC 18(4), 2014) and its first population. No I/O."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
from collections.abc import Iterator

import numpy as np
import pandas as pd
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.util.ref_dirs import get_reference_directions

from kafka_pareto.study.configuration_space import ConfigurationSpace
from kafka_pareto.study.factors import Positions, configuration_id
from kafka_pareto.study.tune import Tune

logger = logging.getLogger(__name__)

_FILLING_ATTEMPTS = 200


def new_algorithm(study: Tune, problem: Problem, first: Positions) -> NSGA3:
    """Return the study's NSGA-III: Das-Dennis directions, SBX, polynomial mutation.

    No point of the cube is evaluated twice, but two points may be one configuration: with few levels, a population of
    all different configurations could not be bred, and the study's number of evaluations would not be reached.
    """
    parameters = study.search
    directions = get_reference_directions("das-dennis", problem.n_obj, n_partitions=parameters.reference_partitions)
    with prints_logged():
        return NSGA3(
            ref_dirs=directions,
            pop_size=parameters.population,
            sampling=first,
            selection=TournamentSelection(func_comp=_less_violation_wins),
            crossover=SBX(prob=parameters.crossover_probability, eta=parameters.crossover_eta),
            mutation=PM(prob=parameters.mutation_probability, eta=parameters.mutation_eta),
        )


def first_population(
    study: Tune, space: ConfigurationSpace, trials: pd.DataFrame, generator: np.random.Generator
) -> Positions:
    """Return the first population's points, distinct, shape (population, factors); fewer in a smaller space.

    With `init: design`, the measured configurations come first, then random points.
    """
    measured = trials[~trials["is_baseline"]] if study.search.init == "design" else trials.iloc[:0]
    wanted = [space.encode(row) for row in measured[list(study.factors)].to_dict("records")]
    candidates = itertools.chain(
        (point for point in wanted if point is not None),
        (generator.random(len(study.factors)) for _ in range(_FILLING_ATTEMPTS * study.search.population)),
    )
    population: dict[str, np.ndarray] = {}
    for point in candidates:
        population.setdefault(configuration_id(space.decode(point[None])[0]), point)
        if len(population) == study.search.population:
            break
    return np.array(list(population.values()))


@contextlib.contextmanager
def prints_logged() -> Iterator[None]:
    """Collect the warnings that pymoo prints into one log line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield
    if text := " ".join(printed.getvalue().split()):
        logger.warning("pymoo: %s", text)


def _less_violation_wins(
    population: Population, pairs: np.ndarray, random_state: np.random.Generator, **_: object
) -> np.ndarray:
    """Run NSGA-III's tournament with a seed, which pymoo's own lacks for equally infeasible points."""
    violations = population.get("CV").reshape(-1)[pairs]
    drawn = random_state.integers(2, size=len(pairs))
    winners = np.where(violations[:, 0] == violations[:, 1], drawn, violations.argmin(axis=1))
    return pairs[np.arange(len(pairs)), winners][:, None]
