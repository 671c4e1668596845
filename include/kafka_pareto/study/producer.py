"""Declares the driver `producer`: records sent to a topic by Kafka's load tool or the project's generator."""

from __future__ import annotations

from kafka_pareto.study.declaration import Driver, Objective

PRODUCER = Driver(
    name="producer",
    identity=("cluster_id", "kafka_version"),
    objectives=(
        Objective("p95_latency_ms", "p95 latency", "ms", maximised=False, quantity="latency_p95_ms"),
        Objective("throughput_mib_s", "throughput", "MiB/s", maximised=True, quantity="throughput_mib_s"),
        Objective(
            "latency_cv",
            "latency CV",
            "",
            maximised=False,
            quantity="latency_cv_in_run",
            spread_of="p95_latency_ms",
        ),
        Objective(
            "throughput_cv",
            "throughput CV",
            "",
            maximised=False,
            quantity="throughput_cv_in_run",
            spread_of="throughput_mib_s",
        ),
    ),
)
