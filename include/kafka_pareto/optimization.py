"""The search: NSGA-III over the surrogates of one record size (Deb and Jain 2014). No I/O."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.indicators.hv import HV
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
from pymoo.util.ref_dirs import get_reference_directions

from kafka_pareto.errors import BadInputError
from kafka_pareto.factors import Configuration, Factor, FactorValue, configuration_id
from kafka_pareto.study import MAXIMISED, OBJECTIVES, Objective, Study
from kafka_pareto.surrogate import RECORD_SIZE_FEATURE, Surrogate

logger = logging.getLogger(__name__)

HYPERVOLUME_REFERENCE = 1.1
_FILLING_ATTEMPTS = 200
_DURABILITY_PROPERTIES = ("acks", "enable.idempotence", "max.in.flight.requests.per.connection", "retries")


@dataclass(frozen=True)
class SearchResult:
    """What a search found: `front` as FRONT_COLUMNS and the factors, `hypervolume` as HYPERVOLUME_COLUMNS."""

    front: pd.DataFrame
    hypervolume: pd.DataFrame
    evaluations: int
    algorithm: NSGA3


class ConfigurationSpace:
    """The factors as a unit cube: a point's coordinates are the positions that `Factor.at` reads."""

    def __init__(self, factors: Mapping[str, Factor]) -> None:
        self._factors = factors

    def decode(self, points: np.ndarray) -> list[Configuration]:
        """The configurations at points of shape (n, factors)."""
        return [
            {name: factor.at(float(x)) for (name, factor), x in zip(self._factors.items(), point, strict=True)}
            for point in points
        ]

    def encode(self, configuration: Mapping[Any, FactorValue]) -> np.ndarray | None:
        """A point that decodes to this configuration, or None when it lies outside of the space."""
        point = np.array([_position(factor, configuration[name]) for name, factor in self._factors.items()])
        if np.isnan(point).any() or dict(self.decode(point[None])[0]) != dict(configuration):
            return None
        return point


class SurrogateProblem(Problem):  # type: ignore[misc]
    """All estimated objectives, minimised, under the study's constraints and a rule on durability.

    It keeps the non-dominated among all feasible configurations ever asked for; `seen_to_hold` says which rules any
    of them has satisfied.
    """

    def __init__(
        self,
        study: Study,
        record_size_bytes: int,
        surrogates: Mapping[Objective, Surrogate],
        *,
        weaker_durability: bool,
    ) -> None:
        self.space = ConfigurationSpace(study.factors)
        self.objectives = [objective for objective in OBJECTIVES if objective in surrogates]
        self.front: pd.DataFrame | None = None
        self._study = study
        self._record_size_bytes = record_size_bytes
        self._surrogates = surrogates
        self._weaker_durability = weaker_durability
        self._constraints = study.parsed_constraints()
        self.seen_to_hold = np.zeros(len(self._constraints) + 1, dtype=bool)
        super().__init__(
            n_var=len(study.factors),
            n_obj=len(self.objectives),
            n_ieq_constr=len(self._constraints) + 1,
            xl=0.0,
            xu=1.0,
        )

    def to_minimise(self, frame: pd.DataFrame) -> np.ndarray:
        """The objectives' columns with the maximised ones negated, shape (rows, objectives)."""
        signs = [-1.0 if objective in MAXIMISED else 1.0 for objective in self.objectives]
        return frame[self.objectives].to_numpy(dtype=float) * signs

    def broken_rules(self) -> list[str]:
        """The rules that no configuration so far has satisfied; all of them when only their union is too much."""
        named = [*self._study.constraints, f"durability >= {self._study.weakest_durability().name}"]
        never = [text for text, held in zip(named, self.seen_to_hold, strict=True) if not held]
        return never or named

    def _evaluate(self, x: np.ndarray, out: dict[str, np.ndarray], *_: object, **__: object) -> None:
        configurations = self.space.decode(x)
        rows = pd.DataFrame(configurations)
        rows[RECORD_SIZE_FEATURE] = self._record_size_bytes
        for objective in self.objectives:
            rows[objective] = self._surrogates[objective].predict(rows)
        broken = np.array([self._broken(configuration) for configuration in configurations], dtype=float)
        out["F"] = self.to_minimise(rows)
        out["G"] = broken
        self.seen_to_hold |= (broken == 0).any(axis=0)
        self._keep_non_dominated(rows[(broken == 0).all(axis=1)])

    def _broken(self, configuration: Configuration) -> list[bool]:
        accepted = self._study.durability_of(configuration) >= self._study.weakest_durability()
        broken = [not constraint.holds(configuration, self._record_size_bytes) for constraint in self._constraints]
        return [*broken, accepted if self._weaker_durability else not accepted]

    def _keep_non_dominated(self, rows: pd.DataFrame) -> None:
        if rows.empty:
            return
        if self.front is not None:
            rows = pd.concat([self.front, rows]).drop_duplicates(list(self._study.factors))
        best = NonDominatedSorting().do(self.to_minimise(rows), only_non_dominated_front=True)
        self.front = rows.iloc[np.sort(best)]


def search(
    study: Study,
    record_size_bytes: int,
    surrogates: Mapping[Objective, Surrogate],
    trials: pd.DataFrame,
    *,
    weaker_durability: bool = False,
) -> SearchResult:
    """Searches one record size; equal arguments give equal results, bit for bit.

    Args:
        study: The study; its seed drives every draw.
        record_size_bytes: The record size.
        surrogates: The models; an objective without one is left out and estimated as NaN.
        trials: This record size's measured trials: they fill the first population and scale the hypervolume.
        weaker_durability: Search only below the accepted durability, to show those fronts apart.

    Returns:
        Every non-dominated configuration among all that were evaluated (not the last population alone), and the
        hypervolume of that set after each generation, with 0 and 1 at the best and worst measured value of each
        objective and the reference at 1.1.

    Raises:
        BadInputError: If no configuration satisfies the constraints, or no objective has a model.
    """
    if not surrogates:
        raise BadInputError(f"record size {record_size_bytes} B: no objective was measured, so there is no search")
    problem = SurrogateProblem(study, record_size_bytes, surrogates, weaker_durability=weaker_durability)
    generator = np.random.default_rng([study.seed, record_size_bytes, weaker_durability])
    algorithm = new_algorithm(study, problem, first_population(study, problem.space, trials, generator))
    indicator = _hypervolume_indicator(problem, trials)
    algorithm.setup(problem, termination=("n_gen", study.search.generations), seed=study.seed, verbose=False)
    rows: list[tuple[int, int, int, float]] = []
    with _prints_logged():
        while algorithm.has_next():
            algorithm.next()
            volume = float(indicator(problem.to_minimise(problem.front))) if problem.front is not None else 0.0
            rows.append((record_size_bytes, len(rows) + 1, algorithm.evaluator.n_eval, volume))
    evaluations = algorithm.evaluator.n_eval
    if problem.front is None:
        raise BadInputError(
            f"record size {record_size_bytes} B: none of the {evaluations:,} configurations tried satisfies "
            f"{' and '.join(problem.broken_rules())}; widen the factors or drop the record size"
        )
    hypervolume = pd.DataFrame(rows, columns=["record_size_bytes", "generation", "evaluations", "hypervolume"])
    front = _front_table(study, problem.front, accepted=not weaker_durability)
    return SearchResult(front, hypervolume, evaluations, algorithm)


def new_algorithm(study: Study, problem: SurrogateProblem, first: np.ndarray) -> NSGA3:
    """The study's NSGA-III: Das-Dennis directions, SBX, polynomial mutation.

    Points of the cube are never asked for twice, but two points may be one configuration: where levels are few, no
    population of all different configurations could be bred, and the study's number of evaluations not be kept.
    """
    parameters = study.search
    directions = get_reference_directions("das-dennis", problem.n_obj, n_partitions=parameters.reference_partitions)
    with _prints_logged():
        return NSGA3(
            ref_dirs=directions,
            pop_size=parameters.population,
            sampling=first,
            selection=TournamentSelection(func_comp=_less_violation_wins),
            crossover=SBX(prob=parameters.crossover_probability, eta=parameters.crossover_eta),
            mutation=PM(prob=parameters.mutation_probability, eta=parameters.mutation_eta),
        )


def first_population(
    study: Study, space: ConfigurationSpace, trials: pd.DataFrame, generator: np.random.Generator
) -> np.ndarray:
    """The first population's points: with `init: design` the measured configurations, then random ones, none twice.

    Returns:
        Points of shape (population, factors); fewer when the space holds fewer configurations.
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


def weaker_durability_is_possible(study: Study) -> bool:
    """Whether the factors can take a configuration below the durability that the study accepts."""
    names = [name for name in study.factors if name in _DURABILITY_PROPERTIES]
    extremes = [
        study.factors[name].levels or [study.factors[name].at(0.0), study.factors[name].at(1.0)] for name in names
    ]
    choices = (dict(zip(names, values, strict=True)) for values in itertools.product(*extremes))
    return min(study.durability_of(choice) for choice in choices) < study.weakest_durability()


def _front_table(study: Study, front: pd.DataFrame, *, accepted: bool) -> pd.DataFrame:
    names = list(study.factors)
    configurations: list[Configuration] = front[names].to_dict("records")  # type: ignore[assignment]
    table = front[[RECORD_SIZE_FEATURE, *names]].reset_index(drop=True)
    table["configuration_id"] = [configuration_id(configuration) for configuration in configurations]
    table["is_baseline"] = table["configuration_id"] == study.baseline_id()
    table["feasible"] = True
    table["durability"] = [study.durability_of(configuration).name for configuration in configurations]
    table["durability_accepted"] = accepted
    for objective in OBJECTIVES:
        table[f"estimated_{objective}"] = front[objective].to_numpy() if objective in front else np.nan
    return table.sort_values(["estimated_p95_latency_ms", "configuration_id"], ignore_index=True)


def _hypervolume_indicator(problem: SurrogateProblem, trials: pd.DataFrame) -> HV:
    measured = problem.to_minimise(trials.dropna(subset=problem.objectives))
    if not len(measured):
        measured = np.zeros((1, problem.n_obj))
    ideal, worst = measured.min(axis=0), measured.max(axis=0)
    nadir = np.where(worst > ideal, worst, ideal + 1.0)
    reference = np.full(problem.n_obj, HYPERVOLUME_REFERENCE)
    return HV(ref_point=reference, ideal=ideal, nadir=nadir, norm_ref_point=False, zero_to_one=True)


def _less_violation_wins(
    population: Population, pairs: np.ndarray, random_state: np.random.Generator, **_: object
) -> np.ndarray:
    """NSGA-III's tournament, seeded: pymoo's own draws between two equally infeasible points from a fresh generator."""
    violations = population.get("CV").reshape(-1)[pairs]
    drawn = random_state.integers(2, size=len(pairs))
    winners = np.where(violations[:, 0] == violations[:, 1], drawn, violations.argmin(axis=1))
    return pairs[np.arange(len(pairs)), winners][:, None]


def _position(factor: Factor, value: FactorValue) -> float:
    """Where `Factor.at` answers with this value; NaN where a level is not listed."""
    if factor.levels is not None:
        levels: list[FactorValue] = list(factor.levels)
        return (levels.index(value) + 0.5) / len(levels) if value in levels else math.nan
    low, high, number = float(factor.low or 0), float(factor.high or 0), float(value)
    if factor.scale == "log":
        return math.log(number / low) / math.log(high / low) if number > 0 else math.nan
    if factor.type == "integer":
        return (number - low + 0.5) / (high - low + 1)
    return (number - low) / (high - low)


@contextlib.contextmanager
def _prints_logged() -> Iterator[None]:
    """pymoo prints its warnings; here they become one log line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield
    if text := " ".join(printed.getvalue().split()):
        logger.warning("pymoo: %s", text)
