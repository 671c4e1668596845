"""Predicts the mean time in each stage of a log pipeline: T = B + W + S. Pure.

B is how long settings let an event wait for others. S is what a stage takes when nothing waits: of a lightly loaded
run, its time less its B. W is the wait for a part that is busy with others, by Kingman's formula (1961, The single
server queue in heavy traffic): W = u / (1 - u) x (ca2 + cs2) / 2 x s. There u is the CPU that a part used in the
light run, scaled to the rate; s its CPU time for one event; ca2, the squared coefficient of variation of the times
between arrivals, the number of events that come at once; cs2 is taken as 1. Spark has no W: it runs one batch after
the other, however few events are in it, so that its CPU says nothing of the most that it could take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kafka_pareto.study.factors import FactorValue

_MS = 1000
_CPU_OF = {
    "filebeat_ms": "filebeat_cores",
    "aggregator_ms": "aggregator_cores",
    "aggregator_to_kafka_ms": "broker_cores",
}
_STAGES = (
    "nginx_to_filebeat_ms",
    "filebeat_ms",
    "filebeat_to_aggregator_ms",
    "aggregator_ms",
    "aggregator_to_kafka_ms",
    "kafka_to_spark_ms",
    "spark_to_hive_ms",
)


def predicted_stages(
    settings: Mapping[str, FactorValue],
    events_s: float,
    light_settings: Mapping[str, FactorValue],
    light: Mapping[str, float],
) -> dict[str, float]:
    """Predicts the mean of each stage, and of the whole as `latency_mean_ms`.

    Args:
        settings: Of the run, all of them.
        events_s: How many events are logged in each second.
        light_settings: Of the lightly loaded run.
        light: Its quantities by name, its stages, `committed_events_s` and the CPU of its parts among them.

    Returns:
        Nothing where the light run lacks a quantity; infinite for a part of which more is asked than it can do.
    """
    needed = {*_STAGES, *_CPU_OF.values(), "committed_events_s"}
    if not needed <= light.keys() or light["committed_events_s"] <= 0:
        return {}
    batch_ms, light_events_s = light["spark_to_hive_ms"], light["committed_events_s"]
    of_light = batching_ms(light_settings, light_events_s, batch_ms)
    of_run = batching_ms(settings, events_s, batch_ms)
    at_once = max(events_s * max(_number(settings, "backoff_ms"), _flush_ms(settings, events_s)) / _MS, 1.0)
    found = {}
    for stage in _STAGES:
        service_ms = max(light[stage] - of_light[stage], 0.0)
        cpu = light[_CPU_OF[stage]] if stage in _CPU_OF else 0.0
        found[stage] = of_run[stage] + service_ms + waiting_ms(events_s, cpu / light_events_s, at_once)
    return {**found, "latency_mean_ms": sum(found.values())}


def waiting_ms(events_s: float, cpu_s_per_event: float, arrival_variation: float) -> float:
    """Returns the mean wait for a server by Kingman's formula; infinite where more arrives than it can take."""
    load = events_s * cpu_s_per_event
    if load >= 1:
        return math.inf
    return load / (1 - load) * (arrival_variation + 1) / 2 * cpu_s_per_event * _MS


def batching_ms(settings: Mapping[str, FactorValue], events_s: float, batch_ms: float) -> dict[str, float]:
    """Returns for how long settings let an event wait in each stage, on average.

    Args:
        settings: All of them.
        events_s: How many events are logged in each second.
        batch_ms: How long a batch of Spark's takes.
    """
    backoff_ms, trigger_ms = _number(settings, "backoff_ms"), _number(settings, "trigger_ms")
    # An entry on several lines is whole when the next one begins.
    next_line_ms = _MS / events_s if settings["log_lines"] == "multi" else 0.0
    flush_ms = _flush_ms(settings, events_s)
    # What was read at one look waits as long as what was read first.
    looks = math.ceil(flush_ms / backoff_ms)
    flushed_ms = flush_ms - backoff_ms * max(looks - 1, 0) / 2
    handed_out = max(min(_number(settings, "bulk_max_size"), events_s * max(backoff_ms, flush_ms) / _MS), 1.0)
    left_over = math.fmod(handed_out, _number(settings, "aggregator_batch_size"))
    return {
        "nginx_to_filebeat_ms": backoff_ms / 2,
        "filebeat_ms": next_line_ms + flushed_ms,
        "filebeat_to_aggregator_ms": 0.0,
        "aggregator_ms": _number(settings, "aggregator_batch_delay_ms") * left_over / handed_out,
        "aggregator_to_kafka_ms": _number(settings, "linger_ms"),
        "kafka_to_spark_ms": max(trigger_ms, batch_ms) / 2,
        "spark_to_hive_ms": 0.0,
    }


def _flush_ms(settings: Mapping[str, FactorValue], events_s: float) -> float:
    """Returns how long Filebeat's queue gathers: until it has enough events, or its time is over."""
    enough = _number(settings, "flush_min_events")
    return 0.0 if enough <= 1 else min(_number(settings, "flush_timeout_ms"), enough / events_s * _MS)


def _number(settings: Mapping[str, FactorValue], name: str) -> float:
    return float(settings[name])
