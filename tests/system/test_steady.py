"""The steady protocol on a real broker: ramp, noise report, and what each repetition knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.records import NoiseReport, Sizing
from kafka_pareto.drivers.producer.sizing import capacity_of
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import StepRunner

pytestmark = pytest.mark.brokers

CASE = "8192"
NOISE_REPETITIONS = 5


@pytest.mark.studies
def test_a_steady_campaign_finds_its_rate_and_its_noise_and_then_measures(
    tmp_path: Path, single_broker: RunningBrokers
) -> None:
    steps = StepRunner(tmp_path, single_broker)
    short = {"seconds": 0.5, "warmup_seconds": 0.2}
    paced = {"rate_fraction": 0.5, "warmup_seconds": 0.2, "seconds": 1.5}
    steps.write_study(
        "tiny",
        base="steady",
        record_sizes_bytes=[int(CASE)],
        workload={"replication_factor": 1, "min_insync_replicas": 1, "topic_partitions": 3},
        design={"configurations": 1},
        protocol=short | {"paced": paced, "noise_repetitions": NOISE_REPETITIONS},
    )
    steps.manifest("design", "tiny")
    measured = steps.manifest("measure", "tiny", "--case", CASE)

    campaign = steps.campaign("tiny")
    keys = campaign.keys
    sizing = campaign.read_record(keys.sizing(CASE), Sizing)
    assert len(sizing.ramp) == 5
    assert [step.asked_records_s for step in sizing.ramp] == sorted({step.asked_records_s for step in sizing.ramp})
    assert sizing.capacity_records_s == capacity_of(sizing.ramp) > 0  # other tests may leave none sustained
    assert sizing.timed
    assert sizing.timed.paced_rate_records_s == pytest.approx(sizing.capacity_records_s / 2)

    noise = campaign.read_record(keys.noise(CASE), NoiseReport)
    assert noise.repetitions == measured["counts"]["noise_repetitions"] == NOISE_REPETITIONS
    throughput = next(found for found in noise.objectives if found.objective == "throughput_mib_s")
    assert throughput.minimum_detectable_effect_fraction
    assert throughput.minimum_detectable_effect_fraction > 0

    repetitions = campaign.read_repetitions(keys.measurements(CASE))
    assert measured["counts"]["repetitions_valid"] == len(repetitions) == 2
    for repetition in repetitions:
        assert repetition.number("records_sent") == repetition.number("end_offset_growth")
        assert repetition.number("latency_p9999_ms") is not None
        assert repetition.number("latency_p95_ms") != round(repetition.number("latency_p95_ms") or 0.0)
        assert None not in (
            repetition.number("queue_time_avg_ms"),
            repetition.number("request_latency_avg_ms"),
            repetition.number("buffer_wait_s"),
        )
        assert repetition.number("batch_size_avg_bytes")
        assert repetition.number("latency_cv_in_run")
        assert repetition.number("throughput_cv_in_run")
        assert repetition.number("paced_rate_asked_records_s") == sizing.timed.paced_rate_records_s
