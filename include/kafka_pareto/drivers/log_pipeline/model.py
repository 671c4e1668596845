"""Predict the mean time in each stage of a log pipeline: T = B + W + S.

B is the batching delay that the settings cause. S is the service time: a stage's time in a lightly loaded run, minus
its B there. W is the wait for a busy part, by Kingman's formula (1961, The single server queue in heavy traffic):
W = u / (1 - u) x (ca2 + cs2) / 2 x s, with u the part's CPU use in the light run scaled to the rate, s its CPU time per
event, ca2 (the squared coefficient of variation of interarrival times) the number of events that arrive together, and
cs2 taken as 1. Spark has no W: it runs batches back to back, so its CPU use does not show its capacity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kafka_pareto.drivers.log_pipeline.declaration import DRIVER
from kafka_pareto.study.factors import FactorValue

_MS = 1000
_CPU_OF = {
    "filebeat_ms": "filebeat_cores",
    "aggregator_ms": "aggregator_cores",
    "aggregator_to_kafka_ms": "broker_cores",
}


def predicted_stages(
    settings: Mapping[str, FactorValue],
    events_s: float,
    light_settings: Mapping[str, FactorValue],
    light: Mapping[str, float],
) -> dict[str, float]:
    """Predict the mean of each stage, and their sum as `latency_mean_ms`.

    `light` holds the quantities of the lightly loaded run. Return {} if it lacks one; a part beyond its capacity gets
    infinity.
    """
    needed = {*DRIVER.stages, *_CPU_OF.values(), "committed_events_s"}
    if not needed <= light.keys() or light["committed_events_s"] <= 0:
        return {}
    batch_ms, light_events_s = light["spark_to_hive_ms"], light["committed_events_s"]
    of_light = batching_ms(light_settings, light_events_s, batch_ms)
    of_run = batching_ms(settings, events_s, batch_ms)
    at_once = max(events_s * max(float(settings["backoff_ms"]), _flush_ms(settings, events_s)) / _MS, 1.0)
    found = {}
    for stage in DRIVER.stages:
        service_ms = max(light[stage] - of_light[stage], 0.0)
        cpu = light[_CPU_OF[stage]] if stage in _CPU_OF else 0.0
        found[stage] = of_run[stage] + service_ms + waiting_ms(events_s, cpu / light_events_s, at_once)
    return {**found, "latency_mean_ms": sum(found.values())}


def waiting_ms(events_s: float, cpu_s_per_event: float, arrival_variation: float) -> float:
    """Return the mean wait for a server by Kingman's formula; infinite at or above capacity."""
    load = events_s * cpu_s_per_event
    if load >= 1:
        return math.inf
    return load / (1 - load) * (arrival_variation + 1) / 2 * cpu_s_per_event * _MS


def batching_ms(settings: Mapping[str, FactorValue], events_s: float, batch_ms: float) -> dict[str, float]:
    """Return the mean batching delay in each stage; `batch_ms` is the duration of a Spark batch."""
    backoff_ms, trigger_ms = float(settings["backoff_ms"]), float(settings["trigger_ms"])
    # A multi-line entry is complete when the next one begins.
    next_line_ms = _MS / events_s if settings["log_lines"] == "multi" else 0.0
    flush_ms = _flush_ms(settings, events_s)
    # Events of one poll wait equally long; those of the first poll wait `flush_ms`.
    looks = math.ceil(flush_ms / backoff_ms)
    flushed_ms = flush_ms - backoff_ms * max(looks - 1, 0) / 2
    sent_events = max(min(float(settings["bulk_max_size"]), events_s * max(backoff_ms, flush_ms) / _MS), 1.0)
    incomplete_events = math.fmod(sent_events, float(settings["aggregator_batch_size"]))
    return {
        "nginx_to_filebeat_ms": backoff_ms / 2,
        "filebeat_ms": next_line_ms + flushed_ms,
        "filebeat_to_aggregator_ms": 0.0,
        "aggregator_ms": float(settings["aggregator_batch_delay_ms"]) * incomplete_events / sent_events,
        "aggregator_to_kafka_ms": float(settings["linger_ms"]),
        "kafka_to_spark_ms": max(trigger_ms, batch_ms) / 2,
        "spark_to_hive_ms": 0.0,
    }


def _flush_ms(settings: Mapping[str, FactorValue], events_s: float) -> float:
    """Return how long Filebeat's queue collects: until it has enough events or times out."""
    enough = float(settings["flush_min_events"])
    return 0.0 if enough <= 1 else min(float(settings["flush_timeout_ms"]), enough / events_s * _MS)
