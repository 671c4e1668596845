"""Declares the driver `services`: orders that five services hand on through a cluster of a named topology."""

from __future__ import annotations

from kafka_pareto.study.declaration import Driver, Objective
from kafka_pareto.study.services_quantities import SERVICES_QUANTITIES

_BY_NAME = {each.name: each for each in SERVICES_QUANTITIES}

SERVICES = Driver(
    name="services",
    identity=("kafka_version", "cluster_id"),
    counted=(),
    quantities=SERVICES_QUANTITIES,
    suite_file="services.yaml",
    case_words=("part", "parts"),
    settings_word="settings of services",
    settings_file="services.properties",
    objectives=(
        Objective("latency_mean_ms", _BY_NAME["latency_mean_ms"]),
        Objective("orders_s", _BY_NAME["orders_s"]),
    ),
)
