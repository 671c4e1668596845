"""Search with NSGA-III over the surrogates of one case (Deb and Jain 2014). No I/O."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.indicators.hv import HV

from kafka_pareto.analysis.pareto import losses_of, non_dominated
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.search.nsga3 import first_population, new_algorithm, prints_logged
from kafka_pareto.search.surrogate_problem import SurrogateProblem
from kafka_pareto.study.cases import case_label, case_seed
from kafka_pareto.study.configuration_space import accepted_durabilities, durability_column, reachable_durabilities
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.surrogate import Estimator

logger = logging.getLogger(__name__)

HYPERVOLUME_REFERENCE = 1.1
_TRACED_OBJECTIVES = 4


@dataclass(frozen=True)
class SearchResult:
    """The result of a search; `archive` holds every evaluated configuration that keeps the rules, once.

    Several of the `evaluations` may be of one configuration.
    """

    front: pd.DataFrame
    archive: pd.DataFrame
    hypervolume: pd.DataFrame
    evaluations: int
    algorithm: NSGA3


def search(
    study: Tune,
    case: str,
    surrogates: Mapping[ObjectiveName, Estimator],
    trials: pd.DataFrame,
    *,
    durability: Durability | None = None,
) -> SearchResult:
    """Search one case, deterministically; by default for the joint front of all accepted durability classes.

    The front holds all non-dominated configurations evaluated. If none keeps the limits by estimate, it is that of all
    of them, with `limits_met_estimated` False; it includes the nearest miss, so there is still something to measure
    next. An objective without a model is excluded, a limit on it ignored, its estimate NaN. `trials`, this case's, fill
    the first population and scale the hypervolume: 0 and 1 at the best and worst measured value, the reference at 1.1;
    it is 0 while nothing keeps the limits.

    Raises:
        BadInputError: If no configuration keeps the rules, or no objective has a model.
    """
    if not surrogates:
        raise BadInputError(f"{case_label(case)}: no objective was measured, so there is nothing to search")
    wanted = accepted_durabilities(study) if durability is None else [durability]
    problem = SurrogateProblem(study, case, surrogates, wanted)
    generator = np.random.default_rng([study.seed, case_seed(case), 0 if durability is None else 1 + durability])
    algorithm = new_algorithm(study, problem, first_population(study, problem.space, trials, generator))
    hypervolume = _evolve(study, algorithm, problem, case, trials)
    feasible, evaluations = problem.feasible(), algorithm.evaluator.n_eval
    if feasible.empty:
        raise BadInputError(
            f"{case_label(case)}: none of the {evaluations:,} configurations tried satisfies "
            f"{' and '.join(problem.broken_rules())}; widen the factors or drop the record size"
        )
    if not feasible["limits_met_estimated"].any():
        logger.warning(
            "%s: none of the %s configurations tried keeps %s by estimate; the front is that of all of them",
            case_label(case), f"{len(feasible):,}", " and ".join(str(limit) for limit in problem.limits),
        )  # fmt: skip
    archive = _table(study, case, feasible)
    on_front = non_dominated_estimates(archive)
    archive["on_joint_front"] = on_front & (durability is None)
    front = archive[on_front].sort_values(_order(study), ignore_index=True)
    return SearchResult(front, archive, hypervolume, evaluations, algorithm)


def with_class_fronts(
    study: Tune, case: str, surrogates: Mapping[ObjectiveName, Estimator], trials: pd.DataFrame, joint: SearchResult
) -> pd.DataFrame:
    """Return the joint front, then that of each reachable durability class; FRONT_COLUMNS and factors, distinct.

    Each class is searched by itself, and the joint search's configurations of that class count too. With one accepted
    class, the joint front is that class's own.
    """
    accepted = accepted_durabilities(study)
    fronts = [joint.front]
    for durability in reachable_durabilities(study):
        if [durability] == accepted:
            continue
        try:
            own = search(study, case, surrogates, trials, durability=durability).archive
        except BadInputError as error:
            logger.info("no front of durability %s: %s", durability.name, error)
            continue
        known = joint.archive[joint.archive["durability"] == durability.name]
        both = pd.concat([known, own]).drop_duplicates("configuration_id", ignore_index=True)
        best = both[non_dominated_estimates(both) & ~both["configuration_id"].isin(joint.front["configuration_id"])]
        fronts.append(best.sort_values(_order(study)))
    return pd.concat(fronts, ignore_index=True)


def _order(study: Tune) -> list[str]:
    """Return the columns that a front is sorted by."""
    return [f"estimated_{study.means[0]}", "configuration_id"]


def non_dominated_estimates(table: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Mark the rows that no other dominates by estimate, only among those that keep the limits, if any do."""
    eligible = table["limits_met_estimated"].to_numpy(dtype=bool)
    eligible = eligible if eligible.any() else ~eligible
    places = np.flatnonzero(eligible)
    losses = losses_of(table[eligible], "estimated_")
    on_front = np.zeros(len(table), dtype=bool)
    on_front[places[non_dominated(losses)]] = True
    return on_front


def hypervolume_indicator(measured: npt.NDArray[np.float64]) -> HV:
    """Return pymoo's hypervolume of losses, scaled to 0 at the best and 1 at the worst measured of each objective.

    `measured` has shape (trials, objectives); an objective without spread is scaled by its unit. The reference point is
    `HYPERVOLUME_REFERENCE` in each objective.
    """
    if not len(measured):
        measured = np.zeros((1, measured.shape[1]))
    ideal, worst = measured.min(axis=0), measured.max(axis=0)
    nadir = np.where(worst > ideal, worst, ideal + 1.0)
    reference = np.full(measured.shape[1], HYPERVOLUME_REFERENCE)
    return HV(ref_point=reference, ideal=ideal, nadir=nadir, norm_ref_point=False, zero_to_one=True)


def _evolve(study: Tune, algorithm: NSGA3, problem: SurrogateProblem, case: str, trials: pd.DataFrame) -> pd.DataFrame:
    """Run all generations; return the hypervolume after each, as HYPERVOLUME_COLUMNS.

    It is that of the first four objectives, since its exact computation takes too long in more dimensions.
    """
    measured = problem.losses_of(trials.dropna(subset=problem.objectives))
    indicator = hypervolume_indicator(measured[:, :_TRACED_OBJECTIVES])
    algorithm.setup(problem, termination=("n_gen", study.search.generations), seed=study.seed, verbose=False)
    rows: list[tuple[str, int, int, float]] = []
    front, volume = problem.front_losses, 0.0
    with prints_logged():
        while algorithm.has_next():
            algorithm.next()
            if problem.front_losses is not front:
                front = problem.front_losses
                volume = float(indicator(front[:, :_TRACED_OBJECTIVES]))
            rows.append((case, len(rows) + 1, algorithm.evaluator.n_eval, volume))
    return pd.DataFrame(rows, columns=["case", "generation", "evaluations", "hypervolume"])


def _table(study: Tune, case: str, feasible: pd.DataFrame) -> pd.DataFrame:
    """Return feasible configurations as FRONT_COLUMNS and the factors, none on the joint front yet."""
    names = list(study.factors)
    configurations: list[Configuration] = feasible[names].to_dict("records")  # type: ignore[assignment]
    durabilities = durability_column(study, {name: feasible[name].to_numpy() for name in names})
    identities = [configuration_id(configuration) for configuration in configurations]
    weakest = study.weakest_durability()
    estimates = [f"estimated_{objective}" for objective in study.objective_names]
    return feasible.assign(
        **{name: np.nan for name in estimates if name not in feasible},
        case=case,
        configuration_id=identities,
        is_baseline=[identity == study.baseline_id() for identity in identities],
        feasible=True,
        durability=[durability.name for durability in durabilities],
        durability_accepted=[durability >= weakest for durability in durabilities],
        on_joint_front=False,
    )
