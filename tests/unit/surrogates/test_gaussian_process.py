from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.search.acquisition import LEAST_R2_LEAVE_ONE_OUT
from kafka_pareto.study.study_file import load_study
from kafka_pareto.surrogates.calibration import calibrate
from kafka_pareto.surrogates.gaussian_process import (
    MOST_TRIALS,
    TRIALS_OF_MANY,
    Posterior,
    at_most,
    fit_posterior,
    inputs,
    neighbouring_cases,
)
from tests.recorded import FIXTURES, changed, paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

CASE = "8192"


@cache
def recorded() -> pd.DataFrame:
    return summarise_trials(recorded_repetitions((CASE,)), paper_study())


@cache
def fitted(configurations: int = 40) -> Posterior:
    posterior = fit_posterior(paper_study(), recorded().head(configurations), "throughput_mib_s")
    assert posterior is not None
    return posterior


def samples(rows: pd.DataFrame, configurations: int = 40, members: int = 200) -> np.ndarray:
    return fitted(configurations).samples(rows, members, np.random.default_rng(1))


def test_its_mean_is_close_at_unseen_points_and_the_interval_of_its_draws_contains_it() -> None:
    unseen = recorded().iloc[40:]
    measured, drawn = np.log(unseen.throughput_mib_s.to_numpy()), samples(unseen)
    assert np.mean((drawn.mean(axis=0) - measured) ** 2) < 0.2 * measured.var()
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    assert np.mean((low <= measured) & (measured <= high)) >= 0.7


def test_it_is_more_certain_at_measured_points_than_at_others() -> None:
    spread = samples(recorded()).std(axis=0)
    assert spread[:40].mean() < 0.7 * spread[40:].mean()


@pytest.mark.slow
def test_more_repetitions_of_a_trial_make_it_count_for_more() -> None:
    rows = recorded().copy()
    rows.loc[rows.index[0], "throughput_mib_s"] *= 4
    pulled = []
    for repetitions in (1, 1000):
        rows.loc[rows.index[0], "repetitions_valid"] = repetitions
        posterior = fit_posterior(paper_study(), rows, "throughput_mib_s")
        assert posterior is not None
        pulled.append(posterior.samples(rows.head(1), 200, np.random.default_rng(1)).mean())
    measured = np.log(rows.throughput_mib_s.iloc[0])
    assert abs(pulled[1] - measured) < abs(pulled[0] - measured)


def test_learned_objectives_are_distinguished_from_others() -> None:
    rows = recorded().copy()
    rows["throughput_mib_s"] = np.random.default_rng(3).permutation(rows.throughput_mib_s.to_numpy())
    shuffled = fit_posterior(paper_study(), rows, "throughput_mib_s")
    assert shuffled is not None
    assert shuffled.r2_leave_one_out < LEAST_R2_LEAVE_ONE_OUT < fitted(60).r2_leave_one_out


def test_nothing_to_learn_from_gives_none() -> None:
    too_few, never_measured = recorded().head(4), recorded().assign(latency_cv=np.nan)
    for rows in (too_few, never_measured, recorded().assign(latency_cv=0.0)):
        assert fit_posterior(paper_study(), rows, "latency_cv") is None


def test_inputs_are_scaled_logs_and_marks_of_the_levels() -> None:
    study = load_study(FIXTURES / "studies" / "good" / "rounds_and_limits.yaml")
    rows = pd.DataFrame(
        {"batch.size": [16384, 262144], "linger.ms": [0, 100], "acks": ["1", "all"], "case": ["1024", "1024"]}
    )
    assert inputs(study, rows).tolist() == [[0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]


def test_more_trials_than_one_process_takes_are_fitted_by_groups_of_neighbouring_cases_or_drawn_by_the_seed() -> None:
    study = changed(paper_study(), record_sizes_bytes=[1024 * (1 + at) for at in range(100)])
    trials = pd.DataFrame({"case": [case for case in study.cases for _ in range(60)]})
    groups = neighbouring_cases(study, trials)
    assert [case for group in groups for case in group] == study.cases
    assert {len(group) for group in groups[:-1]} == {TRIALS_OF_MANY // 60}
    assert neighbouring_cases(study, trials.head(MOST_TRIALS)) == [study.cases]
    many = trials.head(MOST_TRIALS + 1)
    assert len(at_most(study, many)) == TRIALS_OF_MANY
    assert at_most(study, many).index.tolist() == at_most(study, many).index.tolist()
    assert at_most(study, trials.head(MOST_TRIALS)).equals(trials.head(MOST_TRIALS))


@pytest.mark.slow
def test_a_calibration_of_very_many_trials_keeps_a_process_of_no_more_than_it_takes() -> None:
    rows, study = recorded(), paper_study()
    study = changed(study, surrogate=study.surrogate.model_copy(update={"estimates": "gaussian_process"}))
    found = calibrate(study, rows, "throughput_mib_s", rows.throughput_mib_s, most_trials=20)
    assert found is not None
    assert found[0].process is not None
    assert len(found[0].process.targets) == 20
    assert found[1].notna().all()
