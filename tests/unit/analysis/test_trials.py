from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest

from kafka_pareto.analysis.repetition_values import coefficient_of_variation
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.tables import TRIAL_COLUMNS, decode_table, encode_table, table_schema
from kafka_pareto.study.study import Study
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

FAILED: dict[str, Any] = {"outcome": "failed", "latency_p95_ms": None, "throughput_mib_s": None, "attempts": 3}


STUDY = paper_study()
REPETITIONS = [row for row in recorded_repetitions(("8192",), configurations=1) if not row.is_baseline]


def test_a_trial_has_means_and_sample_cvs_of_its_repetitions() -> None:
    (trial,) = summarise_trials(REPETITIONS, STUDY).to_dict("records")
    latencies = [row.number("latency_p95_ms") for row in REPETITIONS]
    throughputs = [row.number("throughput_mib_s") for row in REPETITIONS]
    assert trial["p95_latency_ms"] == pytest.approx(statistics.mean(latencies))
    assert trial["throughput_mib_s"] == pytest.approx(statistics.mean(throughputs))
    assert trial["latency_cv"] == pytest.approx(statistics.stdev(latencies) / statistics.mean(latencies))
    assert trial["throughput_cv"] == pytest.approx(statistics.stdev(throughputs) / statistics.mean(throughputs))
    assert trial["repetitions_valid"] == trial["attempts"] == 10
    assert list(trial["repetition_ids"]) == [row.repetition_id for row in REPETITIONS]


def test_only_valid_repetitions_enter_the_means_and_the_others_are_counted() -> None:
    outcomes = ["records_lost", "records_duplicated"]
    spoilt = [row.with_values({"outcome": o}) for row, o in zip(REPETITIONS, outcomes, strict=False)]
    failed = REPETITIONS[2].with_values(FAILED)

    (trial,) = summarise_trials([*spoilt, failed, *REPETITIONS[3:]], STUDY).to_dict("records")

    assert trial["p95_latency_ms"] == pytest.approx(
        statistics.mean(row.number("latency_p95_ms") for row in REPETITIONS[3:])
    )
    assert (trial["repetitions_valid"], trial["repetitions_lost_records"], trial["repetitions_failed"]) == (7, 2, 1)
    assert trial["attempts"] == 9 + 3
    assert list(trial["repetition_ids"]) == [row.repetition_id for row in REPETITIONS[3:]]


def test_a_trial_below_the_minimum_of_valid_repetitions_has_means_and_no_cv() -> None:
    assert STUDY.protocol.minimum_valid_repetitions == 10
    (trial,) = summarise_trials(REPETITIONS[:9], STUDY).to_dict("records")
    assert not math.isnan(trial["p95_latency_ms"])
    assert math.isnan(trial["latency_cv"])
    assert math.isnan(trial["throughput_cv"])


def within_runs(study: Study, **changes: object) -> Study:
    protocol = study.protocol.model_copy(update={"variability": "within_run", **changes})
    return study.model_copy(update={"protocol": protocol})


def test_within_the_run_a_trials_cvs_are_means_of_its_valid_repetitions_own() -> None:
    rows = [
        row.with_values({"latency_cv_in_run": 0.1 * at, "throughput_cv_in_run": 0.02 * at})
        for at, row in enumerate(REPETITIONS[:4])
    ]
    rows[3] = rows[3].with_values(FAILED)
    (trial,) = summarise_trials(rows, within_runs(STUDY, minimum_valid_repetitions=3)).to_dict("records")
    assert (trial["latency_cv"], trial["throughput_cv"]) == pytest.approx((0.1, 0.02))


def test_within_the_run_one_valid_repetition_has_both_cvs_and_across_repetitions_it_has_none() -> None:
    one = [REPETITIONS[0].with_values({"latency_cv_in_run": 0.3, "throughput_cv_in_run": 0.1})]
    (within,) = summarise_trials(one, within_runs(STUDY)).to_dict("records")
    (across,) = summarise_trials(one, STUDY).to_dict("records")
    assert (within["latency_cv"], within["throughput_cv"]) == (0.3, 0.1)
    assert np.isnan([across["latency_cv"], across["throughput_cv"]]).all()
    assert across["p95_latency_ms"] == one[0].number("latency_p95_ms")


def test_a_trial_without_a_valid_repetition_is_kept_without_numbers() -> None:
    (trial,) = summarise_trials([row.with_values(FAILED) for row in REPETITIONS], STUDY).to_dict("records")
    assert (trial["repetitions_valid"], trial["repetitions_failed"]) == (0, 10)
    assert math.isnan(trial["p95_latency_ms"])
    assert math.isnan(trial["throughput_mib_s"])


def test_the_same_configuration_at_two_record_sizes_is_two_trials() -> None:
    trials = summarise_trials(recorded_repetitions(("1024", "8192"), configurations=0), STUDY)
    assert trials.configuration_id.nunique() == 1
    assert sorted(trials.case) == ["1024", "8192"]
    assert trials.is_baseline.all()


def test_a_trial_records_its_configurations_eligibility_and_guarantee() -> None:
    trials = summarise_trials(recorded_repetitions(("65636",)), STUDY)
    assert (trials.feasible == (trials["batch.size"] >= 65636)).all()
    assert set(trials.feasible) == {True, False}
    promised = {"0": "acks_0", "1": "acks_1", "all": "acks_all_idempotent"}
    assert list(trials.durability) == [promised[acks] for acks in trials["acks"]]


def test_the_trials_fit_their_artifact_and_come_back_unchanged() -> None:
    trials = summarise_trials(recorded_repetitions(("8192",)), STUDY)
    assert list(trials.columns) == table_schema(TRIAL_COLUMNS, STUDY).names
    back = decode_table(encode_table(trials, TRIAL_COLUMNS, STUDY), "03_trials.parquet", TRIAL_COLUMNS, STUDY)
    assert back.drop(columns="repetition_ids").equals(trials[back.columns].drop(columns="repetition_ids"))
    assert [list(ids) for ids in back.repetition_ids] == list(trials.repetition_ids)


@pytest.mark.parametrize(
    ("values", "cv"),
    [([], math.nan), ([3.0], math.nan), ([0.0, 0.0], math.nan), ([-1.0, 1.0], math.nan), ([5.0] * 3, 0)],
)
def test_a_cv_of_too_little_or_around_zero_is_none_and_of_equal_values_zero(values: list[float], cv: float) -> None:
    assert coefficient_of_variation(np.array(values)) == pytest.approx(cv, abs=0, nan_ok=True)
