"""Declares the driver `producer`: records sent to a topic by Kafka's load tool or the project's generator."""

from __future__ import annotations

from kafka_pareto.study.driver import Driver, Objective, register
from kafka_pareto.study.producer_quantities import PRODUCER_QUANTITIES

_BY_NAME = {each.name: each for each in PRODUCER_QUANTITIES}

PRODUCER = register(
    Driver(
        name="producer",
        quantities=PRODUCER_QUANTITIES,
        suite_file="producer.yaml",
        objectives=(
            Objective("p95_latency_ms", _BY_NAME["latency_p95_ms"]),
            Objective("throughput_mib_s", _BY_NAME["throughput_mib_s"]),
            Objective("latency_cv", _BY_NAME["latency_cv_in_run"], spread_of="p95_latency_ms"),
            Objective("throughput_cv", _BY_NAME["throughput_cv_in_run"], spread_of="throughput_mib_s"),
        ),
    )
)
