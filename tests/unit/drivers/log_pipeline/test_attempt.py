"""Judges runs that were made up, and takes their quantities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.drivers.log_pipeline.attempt import judge, require_answers, require_one_clock
from kafka_pareto.drivers.log_pipeline.figures import quantities_of_run
from kafka_pareto.drivers.log_pipeline.stages import Reconciled
from kafka_pareto.drivers.log_pipeline.watch import Counted, Use, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.errors import LoadToolError
from kafka_pareto.shoppers.load import Wanted
from kafka_pareto.study.log_pipeline import LOG_PIPELINE
from kafka_pareto.study.log_pipeline_quantities import LogPipelineQuantities
from kafka_pareto.study.log_pipeline_study import LogPipelineProtocol
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, even, made_events

pytestmark = pytest.mark.fast

PROTOCOL = LogPipelineProtocol(repetitions=3, seconds=60, steady_from_s=20)
ANSWERED = Answered(began_at=BEGAN_MS / 1e3, due=6000, refused=0, late_p95_ms=2.0, response_p95_ms=15.0)
WANTED = Wanted("run", "1", rate_s=100.0, seconds=60)
USES = {"filebeat": Use(3.0, 600, 60_000, 6000), "spark": Use(30.0), "kafka-1": Use(9.0), "shop": Use(24.0)}
SENDING = Counted(seconds=60.0, uses=USES, packets=120_000)
WATCHED = Watched(SENDING, SENDING, 1500.0, 0.1, 0.0, 0.0)


def reconciled(events: pd.DataFrame, **changes: object) -> Reconciled:
    return replace(Reconciled(events, events[["request_id", "t0"]], [], [], 0, 0), **changes)  # type: ignore[arg-type]


def test_requests_that_warmed_up_have_no_part_in_the_figures() -> None:
    logged = np.concatenate([[-5000, -1], even(100, 60)])
    waits = np.concatenate([[90_000, 90_000], np.full(6000, 200.0)])
    found = quantities_of_run(ANSWERED, WATCHED, reconciled(made_events(logged, waits)), WANTED, PROTOCOL)

    assert found.requests_logged == found.events_committed == 6000
    assert found.latency is not None
    assert (found.latency.latency_mean_ms, found.latency.latency_p99_ms) == (200.0, 200.0)
    assert found.latency.committed_events_s == pytest.approx(100, rel=0.01)
    assert found.stages is not None
    assert (found.stages.filebeat_ms, found.stages.kafka_to_spark_ms) == (200.0, 0.0)
    assert found.flow is not None
    assert found.flow.label == "stable"


def test_costs_are_of_the_pipeline_alone() -> None:
    events = reconciled(made_events(even(100, 60), np.full(6000, 200.0)))
    cost = quantities_of_run(ANSWERED, WATCHED, events, WANTED, PROTOCOL).cost

    assert cost.cpu_s_per_thousand_events == pytest.approx(7.0)  # neither nginx nor the shop
    assert (cost.packets_s, cost.packets_per_event) == (2000.0, 20.0)
    assert (cost.filebeat_cores, cost.broker_cores, cost.shop_cores) == (0.05, 0.15, 0.4)
    assert (cost.filebeat_written_kb_s, cost.filebeat_minor_faults_s) == (1.0, 100.0)


def test_a_burst_has_its_own_figures() -> None:
    logged = even(100, 60)
    waits = np.where((logged >= 30_000) & (logged < 40_000), 900.0, np.where(logged < 45_000, 200.0, 210.0))
    waits[(logged >= 40_000) & (logged < 44_000)] = 700.0
    burst = Wanted("run", "1", 100.0, 60, burst_from_s=30.0, burst_until_s=40.0, burst_times=2.0)
    found = quantities_of_run(ANSWERED, WATCHED, reconciled(made_events(logged, waits)), burst, PROTOCOL).burst

    assert (found.burst_p95_ms, found.recovery_p95_ms) == (900.0, 700.0)
    assert (found.other_stage_max_ms, found.kafka_to_spark_max_ms) == (900.0, 0.0)
    assert found.recovery_s == 4.0


def test_quantities_are_those_that_the_driver_declares_and_are_read_back() -> None:
    events = reconciled(made_events(even(100, 60), np.full(6000, 200.0)))
    found = quantities_of_run(ANSWERED, WATCHED, events, WANTED, PROTOCOL)

    assert LOG_PIPELINE.fault_of(found.values()) == ""
    assert LogPipelineQuantities.of(found.values()) == found
    assert LogPipelineQuantities.of(LogPipelineQuantities(10).values()) == LogPipelineQuantities(10)


def test_a_late_load_is_told() -> None:
    events = reconciled(made_events(even(100, 60), np.full(6000, 200.0)))
    late = replace(ANSWERED, late_p95_ms=400.0)

    assert quantities_of_run(late, WATCHED, events, WANTED, PROTOCOL).generator_bound.endswith("p95 400 ms")


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({}, "valid", ""),
        ({"lost": ["a"]}, "records_lost", "1 of 600 requests are not in Hive: a"),
        ({"doubled": ["a", "b"]}, "records_duplicated", "2 requests are in Hive more than once: a, b"),
        ({"unknown": 2}, "failed", "2 rows of Hive are of no request"),
        ({"unstamped": 3}, "failed", "3 events lack a stamp"),
    ],
)
def test_a_run_counts_when_each_request_came_to_hive_once(
    changes: dict[str, object], outcome: str, reason: str
) -> None:
    events = made_events(even(10, 60), np.full(600, 200.0))
    found = judge(reconciled(events, **changes))

    assert found[0] == outcome
    assert reason in found[1]


def test_a_clock_that_was_set_and_a_stage_that_goes_back_in_time_are_told() -> None:
    events = made_events([0], [10])
    require_one_clock(reconciled(events), WATCHED)
    with pytest.raises(LoadToolError, match=r"the clock was set by 3.0 ms"):
        require_one_clock(reconciled(events), replace(WATCHED, clock_step_ms=3.0))
    with pytest.raises(LoadToolError, match=r"1 events end stage filebeat before they begin it: r0 by 5 ms"):
        require_one_clock(reconciled(events.assign(filebeat=-5)), WATCHED)


def test_a_web_server_that_refuses_is_told() -> None:
    require_answers(replace(ANSWERED, refused=60))
    with pytest.raises(LoadToolError, match=r"61 of 6000 requests were refused"):
        require_answers(replace(ANSWERED, refused=61))
