"""What an answer says to a peer."""

from __future__ import annotations

import math

from kafka_pareto.analysis.repetition_values import smallest_latency_ms
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.study import Study


def log_objectives(study: Study, repetition: Repetition) -> tuple[float, float] | None:
    """Log p95 latency (ms, to minimise) and log throughput (MiB/s, to maximise); None unless the answer is valid.

    What lost or duplicated records was often fast: as a good answer it would draw the search to where nothing may be
    recommended.
    """
    latency_ms, throughput_mib_s = repetition.latency_p95_ms, repetition.throughput_mib_s
    if repetition.outcome != "valid" or latency_ms is None or not throughput_mib_s:
        return None
    return math.log(max(latency_ms, smallest_latency_ms(study.protocol))), math.log(throughput_mib_s)
