"""Takes the quantities of a run from its events, from what the load says, and from what was watched. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from kafka_pareto.analysis.recovery import seconds_to_former_p95
from kafka_pareto.drivers.log_pipeline.behaviour import label_of, rate_of_commits, slope_of_second_half
from kafka_pareto.drivers.log_pipeline.by_second import p95_by_second, per_second, queue_of
from kafka_pareto.drivers.log_pipeline.pipeline import PARTS
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, latencies_ms
from kafka_pareto.drivers.log_pipeline.watch import Use, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered
from kafka_pareto.shoppers.load import Wanted
from kafka_pareto.study.log_pipeline_quantities import (
    BurstFigures,
    CostFigures,
    FlowFigures,
    LatencyFigures,
    LogPipelineQuantities,
    StageFigures,
)
from kafka_pareto.study.log_pipeline_study import LogPipelineProtocol

_MS = 1000
_KB = 1000
_LATE_MS = 100.0
_FORMER_TIMES = 1.2


def quantities_of_run(
    answered: Answered, watched: Watched, reconciled: Reconciled, wanted: Wanted, protocol: LogPipelineProtocol
) -> LogPipelineQuantities:
    """Returns all quantities of a run; requests that warmed it up are in none but the queue and what Hive takes."""
    began_ms = answered.began_ms
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
