"""Compute a run's quantities from its events, the load generator's report and the watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from kafka_pareto.analysis.recovery import within_again_at_s
from kafka_pareto.campaign.records import Timeline
from kafka_pareto.drivers.log_pipeline.behaviour_labels import (
    growth_of,
    label_of,
    p95_by_second,
    part_of_burst,
    per_second,
    rate_of_commits,
    timeline_of_run,
)
from kafka_pareto.drivers.log_pipeline.pipeline import PARTS
from kafka_pareto.drivers.log_pipeline.quantities import (
    BurstFigures,
    CostFigures,
    FlowFigures,
    LatencyFigures,
    LogPipelineQuantities,
    ResourceFigures,
    StageFigures,
)
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.stages import STAGES, Reconciled, latencies_ms
from kafka_pareto.drivers.log_pipeline.study import LogPipelineProtocol
from kafka_pareto.drivers.log_pipeline.watch import Amounts, Resources, Use, Watched
from kafka_pareto.drivers.log_pipeline.web_load import Answered

_MS = 1000
_KB = 1000
_MIB = 1 << 20
_LATE_MS = 50.0
_STALLED_MS = 500.0
_FORMER_TIMES = 1.2
_A = TypeVar("_A", bound=Amounts)


def quantities_of_run(
    answered: Answered, watched: Watched, reconciled: Reconciled, wanted: Wanted, protocol: LogPipelineProtocol
) -> LogPipelineQuantities:
    """Return all quantities of a run; warm-up requests still in flight count only in queue and costs."""
    began_ms = answered.began_ms
    everything = reconciled.events
    events, arrivals, ours, pending = (
        each[each.t0 >= began_ms].reset_index(drop=True)
        for each in (everything, reconciled.arrivals, reconciled.requests, reconciled.pending)
    )
    late = (
        f"the load generator sent requests late: p95 {answered.late_p95_ms:.0f} ms, p99 {answered.late_p99_ms:.0f} ms"
    )
    found = LogPipelineQuantities(
        requests_due=answered.due,
        requests_logged=len(ours),
        events_committed=int(ours.request_id.isin(everything.request_id).sum()),
        events_lost=len(reconciled.lost),
        events_pending=len(pending),
        events_doubled=len(reconciled.doubled),
        events_unstamped=reconciled.unstamped,
        late_p95_ms=answered.late_p95_ms,
        late_p99_ms=answered.late_p99_ms,
        response_p95_ms=answered.response_p95_ms,
        refused=answered.refused,
        clock_step_ms=watched.clock_step_ms,
        generator_bound=late if answered.late_p95_ms > _LATE_MS or answered.late_p99_ms > _STALLED_MS else "",
    )
    if events.empty:
        return found
    means = {f"{name}_ms": float(events[name].mean()) for name in STAGES}
    p95 = {f"{name}_p95_ms": float(events[name].quantile(0.95)) for name in STAGES}
    untaken = answered.refused + len(reconciled.lost)
    timeline = timeline_of_run(reconciled, wanted, began_ms)
    return replace(
        found,
        latency=latency_figures(arrivals, everything, began_ms, protocol),
        stages=StageFigures(**means, **p95),
        flow=flow_figures(timeline, everything, began_ms, protocol, untaken / answered.due),
        burst=burst_figures(events, arrivals, began_ms, wanted, protocol) if wanted.burst_until_s else BurstFigures(),
        cost=cost_figures(watched, int((everything.t7 >= began_ms).sum())),
    )


def latency_figures(
    arrivals: pd.DataFrame, everything: pd.DataFrame, began_ms: int, protocol: LogPipelineProtocol
) -> LatencyFigures:
    """Return latencies and steady throughput, capped at the logging rate: draining a backlog does not count."""
    whole, steady_ms = latencies_ms(arrivals), began_ms + protocol.steady_from_s * _MS
    steady = whole[arrivals.t0 >= steady_ms]
    p50, p95, p99 = (float(value) for value in np.quantile(whole, (0.5, 0.95, 0.99)))
    committed_s = rate_of_commits(everything, steady_ms, began_ms + protocol.seconds * _MS)
    logged_s = float(per_second(arrivals.t0, began_ms, protocol.seconds)[protocol.steady_from_s :].mean())
    return LatencyFigures(
        latency_mean_ms=float(whole.mean()),
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        latency_p99_ms=p99,
        steady_latency_mean_ms=float(steady.mean()) if len(steady) else None,
        steady_latency_p95_ms=float(steady.quantile(0.95)) if len(steady) else None,
        committed_events_s=min(committed_s or 0.0, logged_s),
    )


def flow_figures(
    timeline: Timeline, events: pd.DataFrame, began_ms: int, protocol: LogPipelineProtocol, untaken_fraction: float
) -> FlowFigures:
    """Return the busiest seconds, the queue, and the run's label.

    `events` includes warm-up events; `untaken_fraction` is the share of the requests due that were rejected or lost.
    """
    growth = growth_of(timeline, protocol.steady_from_s)
    peaks = [float(per_second(events[stamp], began_ms, protocol.seconds).max()) for stamp in ("t2", "t4", "t7")]
    return FlowFigures(
        shipped_peak_events_s=peaks[0],
        aggregated_peak_events_s=peaks[1],
        committed_peak_events_s=peaks[2],
        queue_peak_events=max(value or 0.0 for value in timeline.series["queue_events"]),
        queue_growth_fraction=growth.fraction if growth else None,
        queue_growth_low_fraction=growth.low if growth else None,
        queue_growth_high_fraction=growth.high if growth else None,
        label=label_of(timeline, protocol.steady_from_s, untaken_fraction),
    )


def burst_figures(
    events: pd.DataFrame, arrivals: pd.DataFrame, began_ms: int, wanted: Wanted, protocol: LogPipelineProtocol
) -> BurstFigures:
    """Return the effect of the burst on requests logged during it and after it.

    The longest times in a stage exclude the log's last entry: without a next one it waits for Filebeat's timeout.
    """
    part = part_of_burst(arrivals.t0, began_ms, wanted)
    since = events[part_of_burst(events.t0, began_ms, wanted) != "before"].iloc[:-1]
    others = [name for name in STAGES if name != "kafka_to_spark"]
    seconds = p95_by_second(arrivals, began_ms, protocol.seconds)
    former_ms = _p95(arrivals[part == "before"])
    former_again_s = former_ms and within_again_at_s(
        seconds, _FORMER_TIMES * former_ms, wanted.burst_from_s, wanted.burst_until_s
    )
    return BurstFigures(
        burst_p95_ms=_p95(arrivals[part == "in"]),
        recovery_p95_ms=_p95(arrivals[part == "after"]),
        kafka_to_spark_max_ms=float(since.kafka_to_spark.max()) if len(since) else None,
        other_stage_max_ms=float(since[others].max().max()) if len(since) else None,
        recovery_s=None if former_again_s is None else max(former_again_s - wanted.burst_until_s, 0.0),
    )


def cost_figures(watched: Watched, events: int) -> CostFigures:
    """Return the run's resource use; `events` is the number of events committed since the run began.

    Rates cover the time in which requests were sent. Costs per event cover the time up to the last commit: a pipeline
    that falls behind keeps working after the last request, but later idle time is excluded.
    """
    uses, seconds, working = watched.sending.uses, watched.sending.seconds, watched.working.uses
    pipeline_s = _brokers(working, Use()).cpu_s + sum(working[name].cpu_s for name in PARTS if name in working)
    figures: dict[str, float | None] = {}
    for name in ("nginx", "filebeat", "aggregator", "spark", "shop"):
        use = uses.get(name, Use())
        figures[f"{name}_cores"] = use.cpu_s / seconds
        if name not in ("spark", "shop"):
            figures[f"{name}_read_kb_s"] = use.read_bytes / _KB / seconds
            figures[f"{name}_written_kb_s"] = use.written_bytes / _KB / seconds
            figures[f"{name}_minor_faults_s"] = use.minor_faults / seconds
    return CostFigures(
        packets_s=watched.sending.packets / seconds,
        packets_per_event=watched.working.packets / events,
        cpu_s_per_thousand_events=1e3 * pipeline_s / events,
        broker_cores=_brokers(uses, Use()).cpu_s / seconds,
        memory_mib=watched.memory_mib,
        **figures,
    )


def resource_figures(resources: Mapping[str, Resources], running_s: float) -> ResourceFigures:
    """Return what each part holds after this time; None for a part that is not watched."""
    parts = {**resources, "broker": _brokers(resources, Resources())}
    figures: dict[str, Any] = {}
    for name in ("nginx", "shop", "filebeat", "aggregator", "broker", "spark"):
        part = parts.get(name, Resources())
        if part != Resources():
            figures[f"{name}_memory_mib"] = part.memory_bytes / _MIB
            figures[f"{name}_open_files"] = part.open_files
            figures[f"{name}_threads"] = part.threads
    return ResourceFigures(running_s, **figures)


def _brokers(amounts: Mapping[str, _A], nothing: _A) -> _A:
    return sum((each for name, each in amounts.items() if name.startswith("kafka")), nothing)


def _p95(arrivals: pd.DataFrame) -> float | None:
    return float(latencies_ms(arrivals).quantile(0.95)) if len(arrivals) else None
