from __future__ import annotations

import math

import numpy as np
import pytest

from kafka_pareto.drivers.log_pipeline.model import batching_ms, predicted_stages, waiting_ms
from kafka_pareto.study.factors import FactorValue
from tests.unit.drivers.log_pipeline.light_run import DEFAULTS, LIGHT

pytestmark = pytest.mark.fast


def test_the_wait_is_that_of_a_simulated_queue() -> None:
    rng = np.random.default_rng(5)
    arrivals = np.cumsum(rng.exponential(1 / 70, 200_000))
    services = rng.exponential(1 / 100, 200_000)
    free_at, waits = 0.0, []
    for arrived, service in zip(arrivals, services, strict=True):
        begins = max(free_at, arrived)
        waits.append(begins - arrived)
        free_at = begins + service

    assert waiting_ms(70, 1 / 100, 1.0) == pytest.approx(1e3 * float(np.mean(waits)), rel=0.1)
    assert waiting_ms(100, 1 / 100, 1.0) == math.inf


@pytest.mark.parametrize(
    ("given", "stage", "wanted_ms"),
    [
        ({}, "nginx_to_filebeat_ms", 500),
        ({"backoff_ms": 10}, "nginx_to_filebeat_ms", 5),
        ({}, "filebeat_ms", 1010),  # the whole timeout, and until the next entry begins
        ({"log_lines": "single"}, "filebeat_ms", 1000),
        ({"log_lines": "single", "backoff_ms": 100}, "filebeat_ms", 550),
        ({"log_lines": "single", "flush_min_events": 1}, "filebeat_ms", 0),
        ({"log_lines": "single", "flush_timeout_ms": 0}, "filebeat_ms", 0),
        ({"log_lines": "single", "flush_min_events": 50, "backoff_ms": 10}, "filebeat_ms", 255),
        ({}, "aggregator_ms", 50),  # 100 events come at once and fill no batch
        ({"aggregator_batch_size": 40}, "aggregator_ms", 10),
        ({"aggregator_batch_size": 1}, "aggregator_ms", 0),
        ({"linger_ms": 5}, "aggregator_to_kafka_ms", 5),
        ({}, "kafka_to_spark_ms", 350),
        ({"trigger_ms": 2000}, "kafka_to_spark_ms", 1000),
    ],
)
def test_settings_let_events_wait(given: dict[str, FactorValue], stage: str, wanted_ms: float) -> None:
    assert batching_ms({**DEFAULTS, **given}, 100.0, 700.0)[stage] == pytest.approx(wanted_ms)


def test_a_light_run_is_predicted_by_itself_but_for_queues() -> None:
    found = predicted_stages(DEFAULTS, 40.0, DEFAULTS, LIGHT)

    for stage in ("nginx_to_filebeat_ms", "filebeat_to_aggregator_ms", "kafka_to_spark_ms", "spark_to_hive_ms"):
        assert found[stage] == pytest.approx(LIGHT[stage])
    queues_ms = waiting_ms(40, 0.02 / 40, 40.0)
    assert found["filebeat_ms"] == pytest.approx(1040 + queues_ms)
    stages = [found[name] for name in LIGHT if name in found]
    assert found["latency_mean_ms"] == pytest.approx(sum(stages))
    assert predicted_stages(DEFAULTS, 40.0, DEFAULTS, {"filebeat_ms": 3.0}) == {}


def test_other_settings_change_their_own_stage_alone() -> None:
    baseline = predicted_stages(DEFAULTS, 200.0, DEFAULTS, LIGHT)
    changed = predicted_stages({**DEFAULTS, "linger_ms": 5}, 200.0, DEFAULTS, LIGHT)

    differing = {name for name in baseline if baseline[name] != changed[name]}
    assert differing == {"aggregator_to_kafka_ms", "latency_mean_ms"}
    assert changed["latency_mean_ms"] - baseline["latency_mean_ms"] == pytest.approx(5)
