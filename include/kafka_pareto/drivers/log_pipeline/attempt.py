"""One attempt at a run of a log pipeline: requests are sent, and each is followed to Hive and judged."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import psutil

from kafka_pareto.analysis.recovery import seconds_to_former_p95
from kafka_pareto.campaign.records import Outcome
from kafka_pareto.drivers.log_pipeline.access_log import read_access_log
from kafka_pareto.drivers.log_pipeline.behaviour import (
    label_of,
    p95_by_second,
    per_second,
    queue_of,
    slope_of_second_half,
)
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, latencies_ms, reconcile
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline, PipelineTestbed
from kafka_pareto.drivers.log_pipeline.watch import Use, Watch, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.errors import ArtifactError, ClusterError, LoadStartError, LoadToolError
from kafka_pareto.log_pipeline.load import Wanted
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.host_load import cpu_fractions, outlier_reason
from kafka_pareto.measurement.repetition_runner import Attempt
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.log_pipeline_quantities import (
    BurstFigures,
    CostFigures,
    FlowFigures,
    LatencyFigures,
    LogPipelineQuantities,
    StageFigures,
)
from kafka_pareto.study.log_pipeline_study import LogPipelineProtocol, LogPipelineStudy

_MS = 1000
_KB = 1000
_MOST_CLOCK_STEP_MS = 1.0
_LATE_MS = 100.0
_FORMER_TIMES = 1.2
_OF_THE_PIPELINE = ("filebeat", "aggregator", "spark")


def attempt_run(
    planned: PlannedRepetition, study: LogPipelineStudy, testbed: PipelineTestbed, requests_s: float
) -> Attempt:
    """Sends the requests of a level at a rate, and follows each of them to Hive."""
    configuration = planned.candidate.configuration
    started_at, cpu_before, began_s = datetime.now(UTC).isoformat(), psutil.cpu_times(), time.monotonic()
    wanted = wanted_of(configuration, study, requests_s)
    found = LogPipelineQuantities(round(requests_s * study.protocol.seconds))
    outcome: Outcome = "failed"
    reason, is_excused, cpu_s = "", False, 0.0
    try:
        with OpenPipeline(testbed, configuration) as opened:
            answered, watched, reconciled = follow(opened, wanted, study.protocol)
        cpu_s = sum(use.cpu_s for use in watched.uses.values())
        found = quantities_of_run(answered, watched, reconciled, wanted, study.protocol)
        outcome, reason = judge(reconciled, watched.clock_step_ms)
        if outcome == "valid" and found.flow and found.flow.label != "stable":
            reason = f"the run was {found.flow.label}"
    except (LoadToolError, LoadStartError, ClusterError, ArtifactError) as error:
        # A part that ends by itself is no fault of the level's: it is measured again.
        reason, is_excused = str(error), True
    steal, other = cpu_fractions(cpu_before, psutil.cpu_times(), cpu_s)
    outlier = outlier_reason(study.protocol.outliers, steal, other if cpu_s else 0.0)
    if outlier and outcome in ("valid", "failed"):
        outcome, reason, is_excused = "failed", f"{outlier}; {reason}" if reason else outlier, True
    return Attempt(
        outcome=outcome,
        reason=reason,
        is_excused=is_excused,
        trouble=None,
        started_at=started_at,
        quantities=found.values(),
        wall_s=time.monotonic() - began_s,
        client_cpu_s=cpu_s,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
    )


def wanted_of(configuration: Configuration, study: LogPipelineStudy, requests_s: float) -> Wanted:
    """Returns what a level's load is told."""
    found, burst = study.effective(configuration), study.protocol.burst
    is_burst = found["burst"] == "once"
    return Wanted(
        run=secrets.token_hex(4),
        begins_at=0.0,
        rate_s=requests_s,
        seconds=study.protocol.seconds,
        workload=str(found["workload"]),
        burst_from_s=burst.from_s if is_burst else 0.0,
        burst_until_s=burst.until_s if is_burst else 0.0,
        burst_times=burst.times if is_burst else 1.0,
    )


def follow(opened: OpenPipeline, wanted: Wanted, protocol: LogPipelineProtocol) -> tuple[Answered, Watched, Reconciled]:
    """Sends requests that warm all parts, then those that count, and waits until all are in Hive.

    Raises:
        ArtifactError: If what was committed cannot be read.
        LoadToolError: If a part ends by itself, or the log cannot be read.
    """
    if protocol.warmup_s:
        warming = Wanted(f"{wanted.run}w", 0.0, wanted.rate_s, protocol.warmup_s, wanted.workload)
        opened.load.send(warming)
    with Watch(opened.roots) as watch:
        answered = opened.load.send(wanted)
        opened.pipeline.require_running()
    opened.end_requests()  # and the log is whole: nginx writes of a request when it has ended
    logged = read_access_log(opened.log_file)
    opened.pipeline.wait_until_committed(len(logged), protocol.drain_s)
    committed, committed_at = opened.pipeline.end()
    return answered, watch.found, reconcile(logged, committed, dict(committed_at))


def judge(reconciled: Reconciled, clock_step_ms: float) -> tuple[Outcome, str]:
    """Judges whether each request came to Hive once, by stamps of one clock that was not set meanwhile."""
    if clock_step_ms > _MOST_CLOCK_STEP_MS:
        return "failed", f"the clock was set by {clock_step_ms:.1f} ms, above {_MOST_CLOCK_STEP_MS:g} ms"
    if reconciled.lost:
        return "records_lost", reconciled.fault
    if reconciled.doubled:
        return "records_duplicated", reconciled.fault
    if reconciled.fault:
        return "failed", reconciled.fault
    if reconciled.events.empty:
        return "failed", "no request came to Hive with all of its stamps"
    return "valid", ""


def quantities_of_run(
    answered: Answered, watched: Watched, reconciled: Reconciled, wanted: Wanted, protocol: LogPipelineProtocol
) -> LogPipelineQuantities:
    """Returns all quantities of a run; latencies and stages are of the requests that were logged while it lasted."""
    began_ms = int(answered.began_at * _MS)
    everything = reconciled.events
    events = everything[everything.t0.between(began_ms, began_ms + protocol.seconds * _MS, inclusive="left")]
    events = events.reset_index(drop=True)
    found = LogPipelineQuantities(
        requests_due=answered.due,
        requests_logged=reconciled.logged,
        events_committed=reconciled.logged - len(reconciled.lost),
        events_lost=len(reconciled.lost),
        events_doubled=len(reconciled.doubled),
        events_unstamped=reconciled.unstamped,
        late_p95_ms=answered.late_p95_ms,
        response_p95_ms=answered.response_p95_ms,
        refused=answered.refused,
        clock_step_ms=watched.clock_step_ms,
        generator_bound=f"the load sent requests late: p95 {answered.late_p95_ms:.0f} ms"
        if answered.late_p95_ms > _LATE_MS
        else "",
    )
    if events.empty:
        return found
    return LogPipelineQuantities(
        **{
            **vars(found),
            "latency": latency_figures(events, began_ms, protocol),
            "stages": stage_figures(events),
            "flow": flow_figures(events, began_ms, protocol),
            "burst": burst_figures(events, began_ms, wanted, protocol) if wanted.burst_until_s else BurstFigures(),
            "cost": cost_figures(watched, len(events)),
        }
    )


def latency_figures(events: pd.DataFrame, began_ms: int, protocol: LogPipelineProtocol) -> LatencyFigures:
    """Returns how long events took, and how many Hive took in each second of the steady part."""
    whole = latencies_ms(events)
    steady = whole[events.t0 >= began_ms + protocol.steady_from_s * _MS]
    p50, p95, p99 = (float(value) for value in np.quantile(whole, (0.5, 0.95, 0.99)))
    committed = per_second(events.t7, began_ms, protocol.seconds)[protocol.steady_from_s :]
    return LatencyFigures(
        latency_mean_ms=float(whole.mean()),
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        latency_p99_ms=p99,
        steady_latency_mean_ms=float(steady.mean()) if len(steady) else None,
        steady_latency_p95_ms=float(steady.quantile(0.95)) if len(steady) else None,
        committed_events_s=float(committed.mean()),
    )


def stage_figures(events: pd.DataFrame) -> StageFigures:
    """Returns the mean and the p95 of each stage."""
    means = {f"{name}_ms": float(events[name].mean()) for name in STAGES}
    p95 = {f"{name}_p95_ms": float(events[name].quantile(0.95)) for name in STAGES}
    return StageFigures(**means, **p95)


def flow_figures(events: pd.DataFrame, began_ms: int, protocol: LogPipelineProtocol) -> FlowFigures:
    """Returns the busiest seconds, the queue, and the run's label."""
    seconds = protocol.seconds
    queue = queue_of(events, began_ms, seconds)
    slope = slope_of_second_half(queue)
    peaks = [float(per_second(events[stamp], began_ms, seconds).max()) for stamp in ("t2", "t4", "t7")]
    return FlowFigures(
        shipped_peak_events_s=peaks[0],
        aggregated_peak_events_s=peaks[1],
        committed_peak_events_s=peaks[2],
        queue_peak_events=float(queue.max()),
        queue_slope_events_s=slope.value if slope else None,
        queue_slope_low_events_s=slope.low if slope else None,
        label=label_of(events, began_ms, seconds, protocol.steady_from_s),
    )


def burst_figures(events: pd.DataFrame, began_ms: int, wanted: Wanted, protocol: LogPipelineProtocol) -> BurstFigures:
    """Returns what the burst did to the events that were logged in it and after it."""
    logged_s = (events.t0 - began_ms) / _MS
    burst = events[(logged_s >= wanted.burst_from_s) & (logged_s < wanted.burst_until_s)]
    after = events[logged_s >= wanted.burst_until_s]
    since = events[logged_s >= wanted.burst_from_s]
    others = [name for name in STAGES if name != "kafka_to_spark"]
    seconds = p95_by_second(events, began_ms, protocol.seconds)
    return BurstFigures(
        burst_p95_ms=_p95(burst),
        recovery_p95_ms=_p95(after),
        kafka_to_spark_max_ms=float(since.kafka_to_spark.max()) if len(since) else None,
        other_stage_max_ms=float(since[others].max().max()) if len(since) else None,
        recovery_s=seconds_to_former_p95(seconds, wanted.burst_from_s, wanted.burst_until_s, _FORMER_TIMES),
    )


def cost_figures(watched: Watched, events: int) -> CostFigures:
    """Returns what the run cost the machine, from its first request to its last answer."""
    uses, seconds = watched.uses, watched.seconds
    brokers = sum((use for name, use in uses.items() if name.startswith("kafka")), Use())
    pipeline_s = brokers.cpu_s + sum(uses[name].cpu_s for name in _OF_THE_PIPELINE if name in uses)
    figures: dict[str, float | None] = {}
    for name in ("nginx", "filebeat", "aggregator"):
        use = uses.get(name, Use())
        figures |= {
            f"{name}_read_kb_s": use.read_bytes / _KB / seconds,
            f"{name}_written_kb_s": use.written_bytes / _KB / seconds,
            f"{name}_minor_faults_s": use.minor_faults / seconds,
        }
    for name in ("nginx", "filebeat", "aggregator", "spark", "shop"):
        figures[f"{name}_cores"] = uses.get(name, Use()).cpu_s / seconds
    return CostFigures(
        packets_s=watched.packets / seconds,
        packets_per_event=watched.packets / events,
        cpu_s_per_thousand_events=1e3 * pipeline_s / events,
        broker_cores=brokers.cpu_s / seconds,
        memory_mib=watched.memory_mib,
        **figures,
    )


def _p95(events: pd.DataFrame) -> float | None:
    return float(latencies_ms(events).quantile(0.95)) if len(events) else None
