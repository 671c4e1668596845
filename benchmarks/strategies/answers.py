"""Turns an answer into numbers for a peer."""

from __future__ import annotations

import math

from kafka_pareto.analysis.repetition_values import smallest_latency_ms
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.tune import Tune


def log_objectives(study: Tune, repetition: Repetition) -> tuple[float, float] | None:
    """Returns log p95 latency (ms, to minimise) and log throughput (MiB/s, to maximise); None for an invalid answer.

    Repetitions that lost or duplicated records were often fast. As good answers they would draw the search to regions
    where nothing may be recommended.
    """
    latency_ms, throughput_mib_s = repetition.latency_p95_ms, repetition.throughput_mib_s
    if repetition.outcome != "valid" or latency_ms is None or not throughput_mib_s:
        return None
    return math.log(max(latency_ms, smallest_latency_ms(study.protocol))), math.log(throughput_mib_s)
