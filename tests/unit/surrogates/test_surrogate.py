from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import ArtifactError
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.sections import Surrogate
from kafka_pareto.study.study import Study
from kafka_pareto.surrogates.surrogate import Surrogate as FittedSurrogate
from kafka_pareto.surrogates.surrogate import (
    SurrogateIndex,
    feature_encoding,
    fit_surrogate,
    importance,
    load_surrogate,
    measured_objectives,
    split_by_configuration,
)
from tests.recorded import paper_study, recorded_repetitions
from tests.trained_campaign import small_study

pytestmark = pytest.mark.fast


@cache
def recorded_trials() -> pd.DataFrame:
    return summarise_trials(recorded_repetitions(("1024", "8192"), configurations=30), paper_study())


def with_surrogate(study: Study, **changes: object) -> Study:
    parameters = Surrogate.model_validate({**study.surrogate.model_dump(), **changes})
    return study.model_copy(update={"surrogate": parameters})


def fitted(study: Study, trials: pd.DataFrame, objective: ObjectiveName) -> FittedSurrogate:
    return fit_surrogate(study, feature_encoding(study, trials), trials, objective)


def test_xgboost_receives_the_values_of_the_paper() -> None:
    study, trials = paper_study(), recorded_trials()
    surrogate = fitted(study, trials, "p95_latency_ms")
    booster = surrogate.regressor.get_booster()
    learner = json.loads(booster.save_config())["learner"]
    tree = learner["gradient_booster"]["tree_train_param"]
    assert booster.num_boosted_rounds() == 300
    assert learner["objective"]["name"] == "reg:squarederror"
    assert tree["max_depth"] == "6"
    assert float(tree["eta"]) == pytest.approx(0.05)
    assert float(tree["subsample"]) == pytest.approx(0.9)
    assert float(tree["colsample_bytree"]) == pytest.approx(0.9)
    assert float(tree["lambda"]) == pytest.approx(1.0)
    assert learner["generic_param"]["seed"] == "42"
    assert not surrogate.log_target


def test_the_paper_codes_categories_as_integers_in_the_order_of_the_levels() -> None:
    study, trials = paper_study(), recorded_trials()
    encoding = feature_encoding(study, trials)
    rows = pd.DataFrame(
        {
            "batch.size": 16384,
            "linger.ms": 5,
            "acks": ["0", "1", "all"],
            "compression.type": ["none", "gzip", "lz4"],
            "case": "1024",
        }
    )
    encoded = encoding.encode(rows)
    assert list(encoded.columns) == ["batch.size", "linger.ms", "acks", "compression.type", "record_size_bytes"]
    assert encoded["acks"].tolist() == [0, 1, 2]
    assert encoded["compression.type"].tolist() == [0, 2, 4]
    booster = fitted(study, trials, "p95_latency_ms").regressor.get_booster()
    assert set(booster.feature_types) <= {"q", "float", "int"}


def test_native_categories_are_split_as_sets_of_levels() -> None:
    study = with_surrogate(small_study(), categories="native")
    trials = recorded_trials()
    surrogate = fitted(study, trials, "throughput_mib_s")
    booster = surrogate.regressor.get_booster()
    assert booster.feature_types == ["q", "q", "c", "c", "q"]
    trees = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    assert any(tree["categories"] for tree in trees)


def test_a_batch_has_as_many_records_as_fit_and_at_least_one_if_the_study_varies_its_size() -> None:
    study = with_surrogate(small_study(), records_per_batch=True)
    rows = recorded_trials().head(3).assign(**{"batch.size": [16384, 16384, 1024], "case": ["1024", "10240", "8192"]})
    encoding = feature_encoding(study, rows)
    assert encoding.encode(rows)["records_per_batch"].tolist() == [16, 1, 1]
    assert encoding.inputs() == ["batch.size", "linger.ms", "acks", "compression.type", "case"]
    assert encoding.encode(rows[encoding.inputs()]).shape == (3, 6)
    without = study.model_copy(update={"factors": {"linger.ms": study.factors["linger.ms"]}})
    assert feature_encoding(without, recorded_trials()).features == ["linger.ms", "record_size_bytes"]


def test_equal_numbers_of_repetitions_leave_the_model_as_it_is() -> None:
    trials = recorded_trials()
    studies = (with_surrogate(small_study(), weights=weights) for weights in ("equal", "repetitions"))
    equal, by_repetitions = (fitted(study, trials, "p95_latency_ms").to_bytes() for study in studies)
    assert by_repetitions == equal


def test_a_trial_of_more_repetitions_is_met_more_closely() -> None:
    study = with_surrogate(small_study(), weights="repetitions", log_target=True)
    trials = recorded_trials()
    twice = pd.concat(
        [trials, trials.assign(p95_latency_ms=trials["p95_latency_ms"] * 2, repetitions_valid=90)], ignore_index=True
    )
    estimates = fitted(study, twice, "p95_latency_ms").predict(trials)
    above = np.log(estimates / trials["p95_latency_ms"]).mean() / np.log(2)
    assert above == pytest.approx(0.9, abs=0.05)


def test_a_level_of_the_baseline_alone_comes_after_the_studys_and_one_of_no_trial_is_a_missing_value() -> None:
    study, trials = paper_study(), recorded_trials()
    levels = {**study.factors, "acks": study.factors["acks"].model_copy(update={"levels": ["all", "1"]})}
    encoding = feature_encoding(study.model_copy(update={"factors": levels}), trials)
    assert encoding.levels["acks"] == ["all", "1", "0"]
    assert np.isnan(encoding.encode(trials.head(1).assign(acks="2"))["acks"]).all()


def test_no_configuration_is_on_both_sides_of_the_split() -> None:
    trials = recorded_trials()
    train, held_out = split_by_configuration(trials, paper_study())
    assert set(train["configuration_id"]).isdisjoint(held_out["configuration_id"])
    assert len(train) + len(held_out) == len(trials)
    assert held_out["configuration_id"].nunique() == pytest.approx(0.25 * trials["configuration_id"].nunique(), abs=1)
    assert [len(side) for side in split_by_configuration(trials.head(1), paper_study())] == [1, 0]


def test_a_log_target_takes_a_cv_of_zero_and_answers_with_positive_estimates() -> None:
    study = with_surrogate(small_study(), log_target=True)
    trials = recorded_trials().copy()
    trials.loc[trials.index[:5], "latency_cv"] = 0.0
    surrogate = fitted(study, trials, "latency_cv")
    estimates = surrogate.predict(trials)
    assert surrogate.log_target
    assert (estimates > 0).all()
    assert estimates[:5].mean() < estimates[5:].mean()


def test_targets_that_are_all_zero_are_learned_as_they_are() -> None:
    study = with_surrogate(small_study(), log_target=True)
    trials = recorded_trials().assign(latency_cv=0.0)
    surrogate = fitted(study, trials, "latency_cv")
    assert not surrogate.log_target
    assert surrogate.predict(trials) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("categories", ["codes", "native"])
def test_equal_trials_give_an_equal_model_that_read_back_estimates_the_same_bit_for_bit(categories: str) -> None:
    study, trials = with_surrogate(small_study(), categories=categories, log_target=True), recorded_trials()
    surrogate, again = (fitted(study, trials, "throughput_mib_s") for _ in range(2))
    assert surrogate.to_bytes() == again.to_bytes()
    index = SurrogateIndex(encoding=surrogate.encoding, models={"throughput_mib_s": surrogate.file()})
    restored = SurrogateIndex.model_validate_json(index.model_dump_json())
    read = load_surrogate(surrogate.to_bytes(), "throughput_mib_s.ubj", "throughput_mib_s", restored)
    assert read.predict(trials).tolist() == surrogate.predict(trials).tolist()


@pytest.mark.parametrize("damage", [lambda content: content[:500], lambda _: b"", lambda content: content + b"x"])
def test_a_damaged_model_is_refused_before_xgboost_sees_it(damage) -> None:  # type: ignore[no-untyped-def]
    surrogate = fitted(small_study(), recorded_trials(), "throughput_mib_s")
    index = SurrogateIndex(encoding=surrogate.encoding, models={"throughput_mib_s": surrogate.file()})
    with pytest.raises(ArtifactError, match=r"p/throughput_mib_s\.ubj: is not the model"):
        load_surrogate(damage(surrogate.to_bytes()), "p/throughput_mib_s.ubj", "throughput_mib_s", index)


def test_importance_is_a_share_for_every_feature() -> None:
    study, trials = small_study(), recorded_trials()
    shares = importance(fitted(study, trials, "throughput_mib_s"))
    assert set(shares.index) == {*study.factors, "record_size_bytes"}
    assert shares.sum() == pytest.approx(1.0)
    assert shares.index[0] == "record_size_bytes"  # it alone explains most of the throughput


def test_an_objective_that_no_trial_or_the_baseline_alone_has_measured_is_not_modelled() -> None:
    trials = recorded_trials()
    alone = trials.assign(latency_cv=trials["latency_cv"].where(trials["is_baseline"]))
    for rows in (trials.assign(latency_cv=np.nan), alone):
        assert measured_objectives(rows) == [name for name in PRODUCER.objective_names if name != "latency_cv"]
    assert measured_objectives(alone[alone["is_baseline"]]) == list(PRODUCER.objective_names)
