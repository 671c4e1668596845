from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.tables import SCORE_COLUMNS, decode_table, encode_table
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sections import Surrogate
from kafka_pareto.surrogates.noise_ceiling import error_variances, noise_ceiling, trial_keys
from kafka_pareto.surrogates.scores import (
    JudgedSurrogate,
    cross_validated,
    describe_scores,
    is_learnable,
    judge_objective,
    learning_curve,
    prediction_error,
    r_squared,
)
from kafka_pareto.surrogates.surrogate import feature_encoding, fit_surrogate, split_by_configuration
from tests.recorded import recorded_repetitions
from tests.trained_campaign import small_study

pytestmark = [pytest.mark.fast, pytest.mark.slow]

CASES = ["1024", "8192"]
STUDY = small_study(CASES)
DEFAULT = STUDY.model_copy(update={"surrogate": Surrogate(n_estimators=100)})


@cache
def recorded() -> tuple[pd.DataFrame, list]:  # type: ignore[type-arg]
    repetitions = recorded_repetitions(CASES, configurations=40)
    return summarise_trials(repetitions, STUDY), repetitions


@cache
def judged(objective: ObjectiveName = "p95_latency_ms", default: bool = False) -> JudgedSurrogate:
    study, (trials, repetitions) = DEFAULT if default else STUDY, recorded()
    return judge_objective(study, feature_encoding(study, trials), trials, repetitions, objective)


def planted_trials(truth: np.ndarray, noise: np.ndarray) -> pd.DataFrame:
    names = [f"c{place}" for place in range(len(truth))]
    return pd.DataFrame({"case": "1024", "configuration_id": names, "p95_latency_ms": truth + noise})


def test_r2_is_pooled_and_within_each_record_size_on_held_out_rows() -> None:
    _, held_out = split_by_configuration(recorded()[0], STUDY)
    expected = {}
    for case, rows in {None: held_out, **dict(tuple(held_out.groupby("case")))}.items():
        residual = rows["p95_latency_ms"] - judged().surrogate.predict(rows)
        spread = rows["p95_latency_ms"] - rows["p95_latency_ms"].mean()
        expected[case] = 1 - (residual**2).sum() / (spread**2).sum()
    found = {None if pd.isna(case) else case: r2 for case, r2 in judged().scores[["case", "r2_held_out"]].values}
    assert found == pytest.approx(expected)
    assert found[None] == judged().pooled_r2_held_out()


def test_the_error_of_a_mean_is_its_squared_standard_error() -> None:
    trials, repetitions = recorded()
    variances = error_variances(trials, repetitions, "throughput_mib_s", STUDY)
    first = trials.iloc[0]
    values = [r.number("throughput_mib_s") for r in repetitions if r.repetition_id in set(first["repetition_ids"])]
    assert variances[trial_keys(trials)[0]] == pytest.approx(np.var(values, ddof=1) / len(values))


def test_the_error_of_a_cv_is_close_to_that_of_fresh_repetitions() -> None:
    generator = np.random.default_rng(7)
    template = recorded_repetitions(("1024",), configurations=1, blocks=1)[0]
    estimates, cvs = [], []
    for trial in range(300):
        drawn = generator.normal(100, 20, size=10)
        repetitions = [
            template.with_values({"repetition_id": f"{trial}-{place}", "latency_p95_ms": float(value)})
            for place, value in enumerate(drawn)
        ]
        names = [repetition.repetition_id for repetition in repetitions]
        row = pd.DataFrame([{"case": "1024", "configuration_id": "c", "repetition_ids": names}])
        estimates += error_variances(row, repetitions, "latency_cv", STUDY).values()
        cvs.append(np.std(drawn, ddof=1) / np.mean(drawn))
    assert np.mean(estimates) == pytest.approx(np.var(cvs, ddof=1), rel=0.3)


def test_the_error_of_a_logarithm_is_relative() -> None:
    trials, repetitions = recorded()
    of_value, of_logarithm = (
        error_variances(trials, repetitions, "throughput_mib_s", STUDY, of_logarithm=scale) for scale in (False, True)
    )
    relative = np.array(list(of_value.values())) / trials["throughput_mib_s"].to_numpy() ** 2
    assert list(of_logarithm.values()) == pytest.approx(relative, rel=0.05)


def test_a_model_of_the_logarithm_is_scored_on_the_logarithm() -> None:
    found = judged(default=True)
    _, held_out = split_by_configuration(recorded()[0], DEFAULT)
    expected = r2_score(np.log(held_out["p95_latency_ms"]), np.log(found.surrogate.predict(held_out)))
    assert found.scores["of_logarithm"].all()
    assert found.pooled_r2_held_out() == pytest.approx(expected)


def test_the_default_settings_come_near_the_ceiling_within_a_record_size() -> None:
    within = judged(default=True).scores.dropna(subset=["case"])
    assert (within["r2_cross_validated"] > 0.9 * within["r2_noise_ceiling"]).all()
    assert within["learnable"].all()


def test_no_estimate_is_of_a_model_that_saw_the_configuration() -> None:
    trials, _ = recorded()
    spoilt = trials.copy()
    one = spoilt["configuration_id"] == spoilt["configuration_id"].iloc[5]
    spoilt.loc[one, "p95_latency_ms"] *= 1000
    encoding = feature_encoding(DEFAULT, trials)
    honest, unaware = (cross_validated(DEFAULT, encoding, rows, "p95_latency_ms") for rows in (trials, spoilt))
    assert unaware[one].tolist() == honest[one].tolist()
    assert unaware[~one].tolist() != honest[~one].tolist()


@pytest.mark.parametrize(
    ("r2", "ceiling", "verdict"),
    [
        (0.9, 0.98, True),
        (0.4, 0.98, False),
        (0.05, 0.08, False),
        (-0.1, 0.5, False),
        (0.3, None, True),
        (None, 0.9, False),
    ],
)
def test_learnable_means_half_of_a_meaningful_ceiling(r2: float | None, ceiling: float | None, verdict: bool) -> None:
    assert is_learnable(r2, ceiling) is verdict


def test_the_ceiling_of_a_planted_signal_is_its_share_of_the_variance() -> None:
    generator = np.random.default_rng(3)
    trials = planted_trials(generator.normal(0, 3**0.5, 4000), generator.normal(0, 1, 4000))
    assert noise_ceiling(trials["p95_latency_ms"], [1.0] * len(trials)) == pytest.approx(0.75, abs=0.03)


def test_noise_alone_has_a_ceiling_of_nearly_nothing_and_is_not_learnable() -> None:
    generator = np.random.default_rng(5)
    repetitions = [
        r.with_values({"latency_p95_ms": float(generator.normal(100, 10))})
        for r in recorded_repetitions(CASES, configurations=40)
    ]
    trials = summarise_trials(repetitions, STUDY)
    found = judge_objective(STUDY, feature_encoding(STUDY, trials), trials, repetitions, "p95_latency_ms")
    pooled = found.scores.iloc[0]
    assert pooled["r2_noise_ceiling"] < 0.2
    assert not pooled["learnable"]
    assert "not learnable" in describe_scores(found.scores)
    assert "record size" not in describe_scores(found.scores)  # it is a log of any driver


def test_two_repetitions_say_nothing_of_a_cvs_error() -> None:
    repetitions = recorded_repetitions(("1024",), configurations=10, blocks=2)
    trials = summarise_trials(repetitions, STUDY)
    of_cv, of_mean = (
        noise_ceiling(trials[name], list(error_variances(trials, repetitions, name, STUDY).values()))
        for name in ("latency_cv", "p95_latency_ms")
    )
    assert of_cv is None
    assert of_mean is not None


@pytest.mark.parametrize("configurations", [0, 1, 2])
def test_a_handful_of_trials_is_judged_by_nothing_and_breaks_nothing(configurations: int) -> None:
    repetitions = recorded_repetitions(("1024",), configurations=configurations, blocks=3)
    trials = summarise_trials(repetitions, STUDY)
    found = judge_objective(STUDY, feature_encoding(STUDY, trials), trials, repetitions, "throughput_mib_s")
    assert found.pooled_r2_held_out() is None
    assert not found.scores["learnable"].any()
    assert "too few rows to judge" in describe_scores(found.scores)


def test_scores_survive_their_artifact_with_a_null_for_the_pooled_record_size() -> None:
    scores = judged("latency_cv").scores
    again = decode_table(encode_table(scores, SCORE_COLUMNS), "scores.parquet", SCORE_COLUMNS)
    assert again["case"].isna().tolist() == [True, False, False]


def test_r2_of_measurements_without_spread_is_not_stated() -> None:
    assert r_squared(np.array([2.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0])) is None


def test_a_learning_curve_grows_with_the_number_of_training_configurations() -> None:
    trials, _ = recorded()
    encoding = feature_encoding(STUDY, trials)
    curve = learning_curve(STUDY, encoding, trials, "p95_latency_ms", np.random.default_rng(1))
    assert curve["configurations"].is_monotonic_increasing
    assert curve["configurations"].iloc[-1] == pytest.approx(0.8 * trials["configuration_id"].nunique(), abs=1)
    assert curve["r2_held_out"].iloc[-1] > curve["r2_held_out"].iloc[0]
    assert (curve["r2_train"] > curve["r2_held_out"]).all()


def test_prediction_error_is_of_the_logarithm_for_means_and_plain_for_cvs() -> None:
    trials, _ = recorded()
    encoding = feature_encoding(STUDY, trials)
    mean, cv = (fit_surrogate(STUDY, encoding, trials, name) for name in ("p95_latency_ms", "latency_cv"))
    log_ratio = np.log(trials["p95_latency_ms"] / mean.predict(trials))
    assert prediction_error(mean, trials) == pytest.approx(np.abs(log_ratio).mean())
    assert prediction_error(cv, trials) == pytest.approx((trials["latency_cv"] - cv.predict(trials)).abs().mean())
