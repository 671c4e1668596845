"""Declare the driver `consumer`: groups of consumers that read a topic or follow a producer."""

from __future__ import annotations

from pathlib import Path

from kafka_pareto.drivers.consumer.quantities import CONSUMER_COSTS, CONSUMER_QUANTITIES
from kafka_pareto.study.declaration import Driver, Objective

_BY_NAME = {each.name: each for each in CONSUMER_QUANTITIES}

DRIVER = Driver(
    name="consumer",
    identity=("kafka_version", "cluster_id"),
    counted=("brokers",),
    quantities=CONSUMER_QUANTITIES,
    derived_quantities=CONSUMER_COSTS,
    expectations=Path(__file__).with_name("expectations.yaml"),
    case_words=("part", "parts"),
    settings_word="consumer settings",
    settings_file="consumer.properties",
    objectives=(
        Objective("read_mib_s", _BY_NAME["read_mib_s"]),
        Objective("end_to_end_p95_ms", _BY_NAME["end_to_end_latency_p95_ms"]),
    ),
)
