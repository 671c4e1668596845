"""One attempt at a run of a log pipeline: requests are sent, and each is followed to Hive and judged."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from kafka_pareto.analysis.recovery import seconds_to_former_p95
from kafka_pareto.campaign.records import Outcome
from kafka_pareto.drivers.log_pipeline.access_log import read_access_log
from kafka_pareto.drivers.log_pipeline.behaviour import (
    label_of,
    p95_by_second,
    per_second,
    queue_of,
    rate_of_commits,
    slope_of_second_half,
)
from kafka_pareto.drivers.log_pipeline.pipeline import PARTS
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, latencies_ms, negative_stage, reconcile
from kafka_pareto.drivers.log_pipeline.testbed import OpenPipeline, PipelineTestbed
from kafka_pareto.drivers.log_pipeline.watch import Use, Watch, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.errors import ArtifactError, ClusterError, LoadStartError, LoadToolError
from kafka_pareto.log_pipeline.load import Wanted
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.host_load import outlier_reason
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
_MOST_REFUSED_FRACTION = 0.01
_FORMER_TIMES = 1.2


def attempt_run(
    planned: PlannedRepetition, study: LogPipelineStudy, testbed: PipelineTestbed, requests_s: float
) -> Attempt:
    """Sends the requests of a level at a rate, and follows each of them to Hive."""
    configuration, protocol = planned.candidate.configuration, study.protocol
    started_at, began_s = datetime.now(UTC).isoformat(), time.monotonic()
    wanted = wanted_of(configuration, study, requests_s, planned.block)
    found = LogPipelineQuantities(round(requests_s * protocol.seconds))
    outcome: Outcome = "failed"
    reason, is_excused = "", False
    watched: Watched | None = None
    try:
        with OpenPipeline(testbed, configuration) as opened:
            answered, watched, reconciled = follow(opened, wanted, protocol)
        found = quantities_of_run(answered, watched, reconciled, wanted, protocol)
        outcome, reason = judge(reconciled)
        if outcome == "valid":
            require_one_clock(reconciled, watched)
            require_answers(answered)
            if found.flow and found.flow.label != "stable":
                reason = f"the run was {found.flow.label}"
    except (LoadToolError, LoadStartError, ClusterError, ArtifactError) as error:
        # A part that ends by itself, or a clock that is set, is no fault of the level's: it is measured again.
        outcome, reason, is_excused = "failed", str(error), True
    steal, other = (watched.steal_fraction, watched.other_fraction) if watched else (0.0, 0.0)
    outlier = outlier_reason(protocol.outliers, steal, other)
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
        client_cpu_s=watched.whole.cpu_s if watched else 0.0,
        cpu_steal_fraction=steal,
        other_cpu_fraction=other,
    )


def wanted_of(configuration: Configuration, study: LogPipelineStudy, requests_s: float, block: int) -> Wanted:
    """Returns what a level's load is told; within a block it is the same for all levels."""
    found, burst = study.effective(configuration), study.protocol.burst
    is_burst = found["burst"] == "once"
    return Wanted(
        run=secrets.token_hex(4),
        seed=f"{study.seed}.{block}",
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
        opened.load.send(replace(wanted, run=f"{wanted.run}w", seconds=protocol.warmup_s, burst_until_s=0.0))
    with Watch(opened.roots) as watch:
        answered = opened.load.send(wanted)
        sending = watch.counted()
        opened.require_running()
        opened.end_requests()  # and the log is whole: nginx writes of a request when it has ended
        logged = read_access_log(opened.log_file)
        opened.pipeline.wait_until_committed(len(logged), protocol.drain_s)
        watched = watch.watched(sending)
    committed, committed_at = opened.pipeline.end()
    return answered, watched, reconcile(logged, committed, dict(committed_at))


def judge(reconciled: Reconciled) -> tuple[Outcome, str]:
    """Judges whether each request came to Hive once, with all of its stamps."""
    if reconciled.lost:
        return "records_lost", reconciled.fault
    if reconciled.doubled:
        return "records_duplicated", reconciled.fault
    if reconciled.fault:
        return "failed", reconciled.fault
    return ("failed", "no request was logged") if reconciled.events.empty else ("valid", "")


def require_one_clock(reconciled: Reconciled, watched: Watched) -> None:
    """Makes sure that the stamps are of one clock that was not set meanwhile.

    Raises:
        LoadToolError: Saying by how much it was, or which stage ended before it began.
    """
    if watched.clock_step_ms > _MOST_CLOCK_STEP_MS:
        raise LoadToolError(f"the clock was set by {watched.clock_step_ms:.1f} ms, above {_MOST_CLOCK_STEP_MS:g} ms")
    if backwards := negative_stage(reconciled.events):
        raise LoadToolError(backwards)


def require_answers(answered: Answered) -> None:
    """Makes sure that the web server answered.

    Raises:
        LoadToolError: If more than one in a hundred requests were refused.
    """
    if answered.refused > _MOST_REFUSED_FRACTION * answered.due:
        raise LoadToolError(
            f"{answered.refused} of {answered.due} requests were refused by the web server, or not answered; ask for a "
            "lower load, or for workload: static"
        )


def quantities_of_run(
    answered: Answered, watched: Watched, reconciled: Reconciled, wanted: Wanted, protocol: LogPipelineProtocol
) -> LogPipelineQuantities:
    """Returns all quantities of a run; requests that warmed it up are in none but the queue and what Hive takes."""
    began_ms = int(answered.began_at * _MS)
    everything = reconciled.events
    events = everything[everything.t0 >= began_ms].reset_index(drop=True)
    ours = reconciled.requests[reconciled.requests.t0 >= began_ms]
    lost = int(ours.request_id.isin(list(reconciled.lost)).sum())
    found = LogPipelineQuantities(
        requests_due=answered.due,
        requests_logged=len(ours),
        events_committed=len(ours) - lost,
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
    return replace(
        found,
        latency=latency_figures(events, everything, began_ms, protocol),
        stages=stage_figures(events),
        flow=flow_figures(everything, began_ms, protocol),
        burst=burst_figures(events, began_ms, wanted, protocol) if wanted.burst_until_s else BurstFigures(),
        cost=cost_figures(watched, len(everything)),
    )


def latency_figures(
    events: pd.DataFrame, everything: pd.DataFrame, began_ms: int, protocol: LogPipelineProtocol
) -> LatencyFigures:
    """Returns how long events took, and how many Hive took in each second of the steady part."""
    whole, steady_ms = latencies_ms(events), began_ms + protocol.steady_from_s * _MS
    steady = whole[events.t0 >= steady_ms]
    p50, p95, p99 = (float(value) for value in np.quantile(whole, (0.5, 0.95, 0.99)))
    committed_s = rate_of_commits(everything, steady_ms, began_ms + protocol.seconds * _MS)
    return LatencyFigures(
        latency_mean_ms=float(whole.mean()),
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        latency_p99_ms=p99,
        steady_latency_mean_ms=float(steady.mean()) if len(steady) else None,
        steady_latency_p95_ms=float(steady.quantile(0.95)) if len(steady) else None,
        committed_events_s=committed_s or 0.0,
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
    former_ms = _p95(events[logged_s < wanted.burst_from_s])
    return BurstFigures(
        burst_p95_ms=_p95(burst),
        recovery_p95_ms=_p95(after),
        kafka_to_spark_max_ms=float(since.kafka_to_spark.max()) if len(since) else None,
        other_stage_max_ms=float(since[others].max().max()) if len(since) else None,
        recovery_s=seconds_to_former_p95(
            seconds, wanted.burst_from_s, wanted.burst_until_s, _FORMER_TIMES, former_ms=former_ms
        ),
    )


def cost_figures(watched: Watched, events: int) -> CostFigures:
    """Returns what the run cost the machine.

    Rates are of the time in which requests were sent. What an event cost is counted up to the last commit: a pipeline
    that falls behind works on when nothing is sent any more.
    """
    uses, seconds, whole = watched.sending.uses, watched.sending.seconds, watched.whole.uses
    pipeline_s = _brokers(whole).cpu_s + sum(whole[name].cpu_s for name in PARTS if name in whole)
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
        packets_s=watched.sending.packets / seconds,
        packets_per_event=watched.whole.packets / events,
        cpu_s_per_thousand_events=1e3 * pipeline_s / events,
        broker_cores=_brokers(uses).cpu_s / seconds,
        memory_mib=watched.memory_mib,
        **figures,
    )


def _brokers(uses: Mapping[str, Use]) -> Use:
    return sum((use for name, use in uses.items() if name.startswith("kafka")), Use())


def _p95(events: pd.DataFrame) -> float | None:
    return float(latencies_ms(events).quantile(0.95)) if len(events) else None
