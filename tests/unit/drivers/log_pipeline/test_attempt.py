from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from kafka_pareto.campaign.candidates import Candidate
from kafka_pareto.campaign.plausibility import PlausibilityRules
from kafka_pareto.drivers.log_pipeline import attempt
from kafka_pareto.drivers.log_pipeline.attempt import (
    Followed,
    RequestsRejectedError,
    judge,
    require_answers,
    require_logged,
    require_one_clock,
)
from kafka_pareto.drivers.log_pipeline.compare import CompareLogPipeline
from kafka_pareto.drivers.log_pipeline.declaration import DRIVER as LOG_PIPELINE
from kafka_pareto.drivers.log_pipeline.figures import quantities_of_run
from kafka_pareto.drivers.log_pipeline.pipeline import PartEndedError
from kafka_pareto.drivers.log_pipeline.quantities import LogPipelineQuantities
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import Reconciled
from kafka_pareto.drivers.log_pipeline.study import LogPipelineProtocol
from kafka_pareto.drivers.log_pipeline.testbed import PipelineTestbed
from kafka_pareto.drivers.log_pipeline.watch import Counted, Resources, Use, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.errors import ArtifactError, ClusterError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, repetition_of
from kafka_pareto.study.factors import Configuration
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, even, made_events, reconciled

pytestmark = pytest.mark.fast

PROTOCOL = LogPipelineProtocol(repetitions=3, seconds=60, steady_from_s=20)
ANSWERED = Answered(
    began_at=BEGAN_MS / 1e3, due=6000, refused=0, late_p95_ms=2.0, late_p99_ms=9.0, response_p95_ms=15.0
)
STUDY = CompareLogPipeline.model_validate(
    {
        "schema_version": 1,
        "name": "s",
        "description": "d",
        "variants": [{"name": "scenarios", "variants": {"baseline": {}, "single": {"log_lines": "single"}}}],
        "protocol": {"repetitions": 3},
    }
)
BASELINE = Candidate("baseline", is_baseline=True, configuration=STUDY.baseline_configuration("scenarios"))
PLANNED = PlannedRepetition("design", 0, "scenarios", BASELINE, 0, 0)
WANTED = Wanted("run", "1", rate_s=100.0, seconds=60)
USES = {"filebeat": Use(3.0, 600, 60_000, 6000), "spark": Use(30.0), "kafka-1": Use(9.0), "shop": Use(24.0)}
SENDING = Counted(seconds=60.0, uses=USES, packets=120_000)
WATCHED = Watched(SENDING, SENDING, SENDING, 1500.0, 0.1, 0.0, 0.0)


LOGGED = even(100, 60)
WHOLE = reconciled(made_events(LOGGED, np.full(6000, 200.0)))


def attempted(
    monkeypatch: pytest.MonkeyPatch,
    followed: Followed | Exception,
    level: Configuration | None = None,
    study: CompareLogPipeline = STUDY,
) -> Attempt:
    """Attempt a run that is followed like this, or fails."""

    def follow(*_: object) -> Followed:
        if isinstance(followed, Exception):
            raise followed
        return followed

    monkeypatch.setattr(attempt, "follow", follow)
    planned = replace(PLANNED, candidate=replace(BASELINE, configuration={**BASELINE.configuration, **(level or {})}))
    testbed = SimpleNamespace(study=study, opened=lambda _: nullcontext())
    return attempt.attempt_run(planned, cast("PipelineTestbed", testbed), 10.0)


def figures(
    reconciled: Reconciled = WHOLE, answered: Answered = ANSWERED, watched: Watched = WATCHED, wanted: Wanted = WANTED
) -> Any:
    return quantities_of_run(answered, watched, reconciled, wanted, PROTOCOL)


def half_done() -> Reconciled:
    comes = LOGGED < 30_000
    return reconciled(made_events(LOGGED[comes], np.full(3000, 200.0)), LOGGED[~comes], 180_000)


def test_requests_that_warmed_up_have_no_part_in_the_figures() -> None:
    logged, waits = np.concatenate([[-5000, -1], LOGGED]), np.full(6002, 200.0)
    waits[:2] = 90_000
    found = figures(reconciled(made_events(logged, waits)))

    assert found.requests_logged == found.events_committed == 6000
    assert (found.latency.latency_mean_ms, found.latency.latency_p99_ms) == (200.0, 200.0)
    assert found.latency.committed_events_s == pytest.approx(100, rel=0.01)
    assert (found.stages.filebeat_ms, found.stages.kafka_to_spark_ms) == (200.0, 0.0)
    assert found.flow.label == "stable"
    # What was left of them costs CPU and packets in the run, and is divided by; what came before the run is not.
    assert found.cost.packets_per_event == pytest.approx(120_000 / 6002)
    waits[:2] = 200
    assert figures(reconciled(made_events(logged - 1000 * (logged < 0), waits))).cost.packets_per_event == 20.0


def test_in_flight_events_count_with_their_time_so_far() -> None:
    found = figures(half_done())

    assert (found.requests_logged, found.events_committed, found.events_pending) == (6000, 3000, 3000)
    assert found.events_lost == 0
    assert min(found.latency.latency_p95_ms, found.latency.steady_latency_p95_ms) > 140_000
    assert (found.flow.label, found.flow.queue_peak_events) == ("collapsing", 3000)


def test_no_more_is_taken_than_is_logged() -> None:
    # A queue of before the run is worked off in its steady part.
    late = np.concatenate([np.full(3000, -1000.0), LOGGED])
    waits = np.concatenate([np.linspace(21_000, 61_000, 3000), np.full(6000, 200.0)])

    assert figures(reconciled(made_events(late, waits))).latency.committed_events_s == 100


def test_costs_are_of_the_pipeline_alone() -> None:
    cost = figures().cost

    assert cost.cpu_s_per_thousand_events == pytest.approx(7.0)  # neither nginx nor the shop
    assert (cost.packets_s, cost.packets_per_event) == (2000.0, 20.0)
    assert (cost.filebeat_cores, cost.broker_cores, cost.shop_cores) == (0.05, 0.15, 0.4)
    assert (cost.filebeat_written_kb_s, cost.filebeat_minor_faults_s) == (1.0, 100.0)


def test_waiting_after_the_last_commit_costs_nothing() -> None:
    idle = Counted(seconds=90.0, uses={name: use + Use(5.0) for name, use in USES.items()}, packets=150_000)
    waited, busy = (figures(watched=replace(WATCHED, **{until: idle})).cost for until in ("whole", "working"))

    assert waited == figures().cost
    assert (busy.packets_s, busy.packets_per_event) == (2000.0, 25.0)
    assert busy.cpu_s_per_thousand_events == pytest.approx(9.5)


def test_a_burst_has_its_own_figures_without_the_last_entry_of_the_log() -> None:
    waits = np.where((LOGGED >= 30_000) & (LOGGED < 40_000), 900.0, np.where(LOGGED < 45_000, 200.0, 210.0))
    waits[(LOGGED >= 40_000) & (LOGGED < 44_000)] = 700.0
    waits[-1] = 5_200.0  # Filebeat waits for a next line
    burst = replace(WANTED, burst_from_s=30.0, burst_until_s=40.0, burst_times=2.0)
    found = figures(reconciled(made_events(LOGGED, waits)), wanted=burst).burst

    assert (found.burst_p95_ms, found.recovery_p95_ms) == (900.0, 700.0)
    assert (found.other_stage_max_ms, found.kafka_to_spark_max_ms) == (900.0, 0.0)
    assert found.recovery_s == 4.0


def test_quantities_are_those_that_the_driver_declares_and_are_read_back() -> None:
    assert LOG_PIPELINE.fault_of(figures().values()) == ""
    for found in (figures(), LogPipelineQuantities(10)):
        assert LogPipelineQuantities.of(found.values()) == found


@pytest.mark.parametrize(
    ("p95_ms", "p99_ms", "reason"),
    [
        (2.0, 9.0, ""),
        (400.0, 450.0, "the load generator sent requests late: p95 400 ms, p99 450 ms"),
        (2.0, 900.0, "the load generator sent requests late: p95 2 ms, p99 900 ms"),
    ],
)
def test_a_late_load_is_reported(p95_ms: float, p99_ms: float, reason: str) -> None:
    assert figures(answered=replace(ANSWERED, late_p95_ms=p95_ms, late_p99_ms=p99_ms)).generator_bound == reason


@pytest.mark.parametrize(
    ("changes", "outcome", "reason"),
    [
        ({}, "valid", ""),
        ({"lost": ["a"]}, "records_lost", "requests missing from Hive: 1 of 600 (a)"),
        ({"doubled": ["a", "b"]}, "records_duplicated", "duplicated requests in Hive: 2 (a, b)"),
        ({"unknown": 2}, "failed", "rows in Hive that match no logged request: 2"),
        ({"unstamped": 3}, "failed", "events with missing timestamps: 3"),
    ],
)
def test_a_run_counts_when_each_request_came_to_hive_once(
    changes: dict[str, object], outcome: str, reason: str
) -> None:
    events = made_events(even(10, 60), np.full(600, 200.0))
    found = judge(replace(reconciled(events), **changes), BEGAN_MS)  # type: ignore[arg-type]

    assert found[0] == outcome
    assert reason in found[1]


def test_a_pipeline_that_was_too_slow_is_reported_and_is_not_a_failure() -> None:
    events = made_events(np.concatenate([[-500], even(10, 60)]), np.full(601, 200.0))
    warmed_up = made_events([-500], [1000])

    reason = "requests still in flight at the end: 2 of 602"
    assert judge(reconciled(events, [0, 100], 90_000), BEGAN_MS) == ("valid", reason)
    reason = "no request reached Hive in time (1 logged)"
    assert judge(reconciled(warmed_up, [0], 90_000), BEGAN_MS) == ("failed", reason)
    assert judge(reconciled(warmed_up), BEGAN_MS) == ("failed", "no request was logged")


@pytest.mark.parametrize(
    ("error", "is_excused"),
    [
        (PartEndedError("Filebeat has ended"), False),
        (LoadToolError("load 1 does not answer"), True),
        (ClusterError("the topic cannot be made"), True),
        (ArtifactError("Hive's table cannot be read"), True),
    ],
)
def test_only_a_part_that_ends_is_a_fault_of_its_settings(
    monkeypatch: pytest.MonkeyPatch, error: Exception, *, is_excused: bool
) -> None:
    found = attempted(monkeypatch, error)

    assert (found.outcome, found.reason, found.is_excused) == ("failed", str(error), is_excused)


def test_what_the_parts_hold_is_measured_while_they_keep_running(monkeypatch: pytest.MonkeyPatch) -> None:
    resources = {
        "spark": Resources(800 * 1024**2, 300, 90),
        "kafka-1": Resources(400 * 1024**2, 120, 70),
        "kafka-2": Resources(1024**2, 2, 3),
        "load 0": Resources(5, 5, 5),
    }
    followed = Followed(ANSWERED, replace(WATCHED, resources=resources), WHOLE, running_s=720.0)
    protocol = STUDY.protocol.model_copy(update={"keeps_running": True})
    soak = attempted(monkeypatch, followed, study=STUDY.model_copy(update={"protocol": protocol})).quantities

    assert (soak["running_s"], soak["spark_memory_mib"], soak["broker_memory_mib"]) == (720.0, 800.0, 401.0)
    assert (soak["broker_open_files"], soak["broker_threads"], soak["shop_threads"]) == (122, 73, None)
    restarted = attempted(monkeypatch, followed).quantities
    assert (restarted["running_s"], restarted["spark_memory_mib"]) == (None, None)


@pytest.mark.parametrize(("pending", "broken"), [(3000, []), (2999, ["all_accounted_for"])])
def test_each_request_is_in_hive_or_in_flight_or_the_run_is_rejected(pending: int, broken: list[str]) -> None:
    quantities = replace(figures(half_done()), events_pending=pending).values()
    measured = Attempt(outcome="valid", started_at="", quantities=quantities, wall_s=1.0, client_cpu_s=1.0)

    judged = PlausibilityRules(STUDY).with_implausible_failed(repetition_of(PLANNED, measured, 1))

    assert judged.broken_rules == broken


def test_an_adjusted_clock_and_a_stage_that_goes_back_in_time_are_reported() -> None:
    events = made_events([0], [10])
    require_one_clock(reconciled(events), WATCHED)
    with pytest.raises(LoadToolError, match=r"the clock was adjusted by 3.0 ms"):
        require_one_clock(reconciled(events), replace(WATCHED, clock_step_ms=3.0))
    with pytest.raises(LoadToolError, match=r"stage filebeat is negative in 1 event, such as r0 \(-5 ms\)"):
        require_one_clock(reconciled(events.assign(filebeat=-5)), WATCHED)


@pytest.mark.parametrize(
    ("level", "outcome", "is_excused"),
    [
        ({}, "failed", True),  # half of what was found to be resources: something else is wrong
        ({"burst": "once"}, "failed", False),
        ({"load": "500/s"}, "failed", False),
        ({"load": "120%"}, "valid", False),
        ({"load": "120%", "burst": "once"}, "valid", False),
    ],
)
def test_refused_requests_are_a_result_for_a_level_that_may_overload(
    monkeypatch: pytest.MonkeyPatch, level: Configuration, outcome: str, *, is_excused: bool
) -> None:
    events = reconciled(made_events(even(100, 180), np.full(18_000, 200.0)))
    followed = Followed(replace(ANSWERED, refused=900), WATCHED, events)
    found = attempted(monkeypatch, followed, level)

    assert (found.outcome, found.is_excused) == (outcome, is_excused)
    assert ("did not answer 900 of 6000 requests" in found.reason) is (outcome == "failed")
    assert (found.reason == "the run was throttled") is (outcome == "valid")
    assert found.quantities["refused"] == 900
    assert found.quantities["latency_p95_ms"] == 200.0


def test_the_backlog_of_an_unfinished_warm_up_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    events = reconciled(made_events(np.concatenate([[-5000, -1], even(100, 180)]), np.full(18_002, 200.0)))

    assert attempted(monkeypatch, Followed(ANSWERED, WATCHED, events)).reason == ""
    reason = attempted(monkeypatch, Followed(ANSWERED, WATCHED, events, is_warm=False)).reason
    assert reason == "warm-up requests still in flight when the run began: 1"


def test_a_web_server_that_rejects_requests_is_reported() -> None:
    require_answers(replace(ANSWERED, refused=60))
    with pytest.raises(RequestsRejectedError, match=r"did not answer 61 of 6000 requests"):
        require_answers(replace(ANSWERED, refused=61))


def test_an_answered_request_that_was_not_logged_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    events = reconciled(made_events([0, 5], [10, 10]), [8], 900)
    require_logged(replace(ANSWERED, answered_ids=["r1", "p0"]), events)
    reason = "answered requests missing from the web server's log: 3 of 6000 (a, b, c)"
    unlogged = replace(ANSWERED, answered_ids=["r0", "a", "b", "r1", "c"])
    with pytest.raises(LoadToolError, match=re.escape(reason)):
        require_logged(unlogged, events)

    found = attempted(monkeypatch, Followed(unlogged, WATCHED, WHOLE))
    assert (found.outcome, found.reason, found.is_excused) == ("failed", reason, True)
