"""Declare the driver `services`: orders processed by five services on a cluster of a named topology."""

from __future__ import annotations

from pathlib import Path

from kafka_pareto.drivers.services.quantities import SERVICES_QUANTITIES
from kafka_pareto.study.declaration import Driver, Objective, OverTime

_BY_NAME = {each.name: each for each in SERVICES_QUANTITIES}

DRIVER = Driver(
    name="services",
    identity=("kafka_version", "cluster_id"),
    counted=(),
    quantities=SERVICES_QUANTITIES,
    expectations=Path(__file__).with_name("expectations.yaml"),
    case_words=("part", "parts"),
    over_time=OverTime(begins_with="order", done="orders confirmed"),
    settings_word="settings of services",
    settings_file="services.properties",
    objectives=(
        Objective("latency_mean_ms", _BY_NAME["latency_mean_ms"]),
        Objective("orders_s", _BY_NAME["orders_s"]),
    ),
)
