"""Turn an answer into numbers for a peer."""

from __future__ import annotations

import math

from kafka_pareto.analysis.repetition_values import per_repetition_value, smallest_value
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.tune import Tune


def log_objectives(study: Tune, repetition: Repetition) -> tuple[float, float] | None:
    """Return log p95 latency (ms, to minimise) and log throughput (MiB/s, to maximise); None for an invalid answer.

    Repetitions that lost or duplicated records were often fast. As good answers they would draw the search to regions
    where nothing may be recommended.
    """
    variability = study.protocol.variability
    latency_ms, throughput_mib_s = (per_repetition_value(repetition, mean, variability) for mean in study.means)
    if repetition.outcome != "valid" or latency_ms is None or not throughput_mib_s:
        return None
    return math.log(max(latency_ms, smallest_value("p95_latency_ms", study.protocol))), math.log(throughput_mib_s)
