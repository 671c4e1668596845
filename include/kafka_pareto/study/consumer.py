"""Declares the driver `consumer`: groups of consumers that read a topic, and follow a producer that sends to one."""

from __future__ import annotations

from kafka_pareto.study.consumer_costs import CONSUMER_COSTS
from kafka_pareto.study.consumer_quantities import CONSUMER_QUANTITIES
from kafka_pareto.study.declaration import Driver, Objective

_BY_NAME = {each.name: each for each in CONSUMER_QUANTITIES}

CONSUMER = Driver(
    name="consumer",
    identity=("kafka_version", "cluster_id"),
    counted=("brokers",),
    quantities=CONSUMER_QUANTITIES,
    derived_quantities=CONSUMER_COSTS,
    suite_file="consumer.yaml",
    case_words=("part", "parts"),
    settings_word="consumer settings",
    settings_file="consumer.properties",
    objectives=(
        Objective("read_mib_s", _BY_NAME["read_mib_s"]),
        Objective("end_to_end_p95_ms", _BY_NAME["end_to_end_latency_p95_ms"]),
    ),
)
