from __future__ import annotations

import logging
from functools import cache

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.pareto import losses_of, non_dominated
from kafka_pareto.campaign.tables import FRONT_COLUMNS, encode_table
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.search.nsga3 import first_population, new_algorithm
from kafka_pareto.search.pareto_search import SearchResult, non_dominated_estimates, search, with_class_fronts
from kafka_pareto.search.surrogate_problem import SurrogateProblem
from kafka_pareto.study.configuration_space import accepted_durabilities
from kafka_pareto.study.constraints import satisfies
from kafka_pareto.study.factors import Positions
from kafka_pareto.study.study import Study
from kafka_pareto.surrogates.surrogate import Surrogate
from tests.recorded import changed
from tests.trained_campaign import CASE, recorded_trials, small_study, surrogates

pytestmark = [pytest.mark.fast, pytest.mark.slow]
FORBIDDEN = ["compression.type == zstd and batch.size <= 32768", "linger.ms == 100"]
LIMITS = ["p95_latency_ms <= 60", "throughput_mib_s >= 18.5"]


def short_study(**changes: object) -> Study:
    return changed(small_study(generations=10), **changes)


@cache
def free_result() -> SearchResult:
    return search(short_study(), CASE, surrogates(), recorded_trials())


def class_fronts(study: Study) -> tuple[SearchResult, pd.DataFrame]:
    joint = search(study, CASE, surrogates(), recorded_trials())
    return joint, with_class_fronts(study, CASE, surrogates(), recorded_trials(), joint)


@cache
def bound_result() -> SearchResult:
    return search(short_study(forbidden=FORBIDDEN, limits=LIMITS), CASE, surrogates(), recorded_trials())


class Watched(SurrogateProblem):
    def _evaluate(self, x: Positions, out: dict[str, np.ndarray], *more: object, **named: object) -> None:
        self.asked = [*getattr(self, "asked", []), *x]
        super()._evaluate(x, out, *more, **named)


def test_every_individual_of_every_generation_is_a_configuration_of_the_space() -> None:
    study, trials = short_study(), recorded_trials()
    problem = Watched(study, CASE, surrogates(), accepted_durabilities(study))
    population = first_population(study, problem.space, trials, np.random.default_rng(0))
    algorithm = new_algorithm(study, problem, population)
    algorithm.setup(problem, termination=("n_gen", study.search.generations), seed=1, verbose=False)
    algorithm.run()
    assert len(problem.asked) == 92 * 10
    for configuration in problem.space.decode(np.array(problem.asked)):
        assert all(value in (study.factors[name].levels or []) for name, value in configuration.items())


def test_a_front_keeps_constraints_forbidden_regions_and_limits() -> None:
    study, front = short_study(forbidden=FORBIDDEN, limits=LIMITS), bound_result().front
    configurations = front[list(study.factors)].to_dict("records")
    assert len(front) > 1
    assert all(study.keeps_rules(configuration, CASE) for configuration in configurations)  # type: ignore[arg-type]
    assert (front["estimated_p95_latency_ms"] <= 60).all()
    assert (front["estimated_throughput_mib_s"] >= 18.5).all()
    assert front["limits_met_estimated"].all()
    free = free_result().front  # they really bind
    assert (free["estimated_p95_latency_ms"] > 60).any()
    assert (free["estimated_throughput_mib_s"] < 18.5).any()
    assert (free["linger.ms"] == 100).any()


def test_the_archive_has_every_feasible_configuration_once_and_the_front_is_its_best() -> None:
    study, result = short_study(forbidden=FORBIDDEN, limits=LIMITS), bound_result()
    archive = result.archive
    assert archive["configuration_id"].is_unique
    assert len(result.front) < len(archive) < result.evaluations
    assert all(
        satisfies(study.rules(), row, study.variables(CASE)) for row in archive[list(study.factors)].to_dict("records")
    )  # type: ignore[arg-type]
    assert not archive["limits_met_estimated"].all()
    within = archive[archive["limits_met_estimated"]]
    best = within[non_dominated(losses_of(within, "estimated_"))]
    assert set(best["configuration_id"]) == set(result.front["configuration_id"])
    encode_table(archive, FRONT_COLUMNS, study)


def test_estimates_in_the_archive_are_the_surrogates_own() -> None:
    archive = bound_result().archive
    for objective, surrogate in surrogates().items():
        assert archive[f"estimated_{objective}"].tolist() == surrogate.predict(archive).tolist()


def test_an_estimator_that_only_predicts_frames_gives_the_same_search() -> None:
    class Member:
        def __init__(self, surrogate: Surrogate) -> None:
            self._surrogate = surrogate

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return self._surrogate.predict(frame)

    members = {objective: Member(surrogate) for objective, surrogate in surrogates().items()}
    study = short_study(forbidden=FORBIDDEN, limits=LIMITS)
    result = search(study, CASE, members, recorded_trials())
    pd.testing.assert_frame_equal(result.front, bound_result().front, check_exact=True)


def test_limits_that_nothing_keeps_leave_a_marked_front_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    study = short_study(limits=["p95_latency_ms <= 0.5", "throughput_mib_s >= 25"])
    with caplog.at_level(logging.WARNING):
        result = search(study, CASE, surrogates(), recorded_trials())
    assert "keeps p95_latency_ms <= 0.5 and throughput_mib_s >= 25 by estimate" in caplog.text
    assert not result.front["limits_met_estimated"].any()
    assert result.front["estimated_p95_latency_ms"].min() == result.archive["estimated_p95_latency_ms"].min()
    assert (result.hypervolume["hypervolume"] == 0).all()


def test_a_limit_leads_the_search_to_configurations_within_it() -> None:
    free = free_result().archive
    tight = float(free["estimated_p95_latency_ms"].quantile(0.05))
    bound = search(short_study(limits=[f"p95_latency_ms <= {tight}"]), CASE, surrogates(), recorded_trials()).archive
    shares = [(archive["estimated_p95_latency_ms"] <= tight).mean() for archive in (free, bound)]
    assert shares[1] > shares[0]


def test_a_limit_on_an_objective_that_is_not_searched_is_left_to_the_measurements() -> None:
    two = {name: surrogates()[name] for name in ("p95_latency_ms", "throughput_mib_s")}
    study = short_study(limits=["latency_cv <= 0.000001"])
    assert search(study, CASE, two, recorded_trials()).front["limits_met_estimated"].all()


def test_a_region_that_forbids_everything_is_named() -> None:
    study = short_study(forbidden=["linger.ms >= 0"])
    with pytest.raises(BadInputError, match=r"none of the 920 .* satisfies not \(linger\.ms >= 0\); widen"):
        search(study, CASE, surrogates(), recorded_trials())


def test_each_durability_class_has_its_own_front_besides_the_joint_one() -> None:
    joint, fronts = class_fronts(short_study())
    encode_table(fronts, FRONT_COLUMNS, short_study())
    assert fronts["configuration_id"].is_unique
    assert set(fronts["durability"]) == {"acks_0", "acks_1", "acks_all_idempotent"}
    pd.testing.assert_frame_equal(fronts[fronts["on_joint_front"]], joint.front)
    for name, own in fronts[~fronts["on_joint_front"]].groupby("durability"):
        found = joint.archive[joint.archive["durability"] == name]
        both = pd.concat([own, found]).drop_duplicates("configuration_id", ignore_index=True)
        assert non_dominated_estimates(both)[: len(own)].all()


@pytest.mark.parametrize("accepted", [["acks_1", "acks_all_idempotent"], ["acks_all_idempotent"]])
def test_classes_below_the_accepted_one_are_searched_and_never_joint(accepted: list[str]) -> None:
    joint, fronts = class_fronts(short_study(durability=Durability[accepted[0]]))
    assert set(joint.front["durability"]) == set(accepted)
    is_accepted = fronts["durability"].isin(accepted)
    assert fronts["durability_accepted"].tolist() == is_accepted.tolist()
    assert 0 < is_accepted.sum() < len(fronts)
    assert not fronts.loc[~is_accepted, "on_joint_front"].any()
    if len(accepted) == 1:  # no search of its own for the one class that the joint front is of
        assert fronts.loc[is_accepted, "on_joint_front"].all()


def test_a_class_that_the_rules_leave_nothing_of_has_no_front(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        _, fronts = class_fronts(short_study(forbidden=["acks == 0"]))
    assert set(fronts["durability"]) == {"acks_1", "acks_all_idempotent"}
    assert "no front of durability acks_0" in caplog.text
