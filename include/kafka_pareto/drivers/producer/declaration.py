"""Declare the driver `producer`: records sent to a topic by Kafka's load tool or the project's generator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kafka_pareto.drivers.producer.client_files import librdkafka_properties, spring_yaml
from kafka_pareto.drivers.producer.quantities import PRODUCER_COSTS, PRODUCER_QUANTITIES
from kafka_pareto.kafka.known_properties import DEFAULTS
from kafka_pareto.study.declaration import ClientFile, Driver, Feature, Objective
from kafka_pareto.study.factors import Column

RECORD_SIZE = "record.size"

_BY_NAME = {each.name: each for each in PRODUCER_QUANTITIES}


def _record_size_bytes(columns: Mapping[str, Column]) -> Column:
    sizes: Column = columns["case"].astype(float)
    return sizes


def _records_per_batch(columns: Mapping[str, Column]) -> Column:
    """Return the records that fit in a batch, at least one."""
    fitting: Column = np.maximum(columns["batch.size"] // _record_size_bytes(columns), 1.0)
    return fitting


DRIVER = Driver(
    name="producer",
    identity=("kafka_version", "cluster_id"),
    counted=("brokers",),
    defaults=DEFAULTS,
    quantities=PRODUCER_QUANTITIES,
    derived_quantities=PRODUCER_COSTS,
    expectations=Path(__file__).with_name("expectations.yaml"),
    case_words=("record size", "record sizes"),
    settings_word="producer settings",
    settings_file="producer.properties",
    client_files=(
        ClientFile("producer.properties"),
        ClientFile("application.yaml", spring_yaml),
        ClientFile("librdkafka.properties", librdkafka_properties),
    ),
    states_durability=True,
    objectives=(
        Objective("p95_latency_ms", _BY_NAME["latency_p95_ms"]),
        Objective("throughput_mib_s", _BY_NAME["throughput_mib_s"]),
        Objective("latency_cv", _BY_NAME["latency_cv_in_run"], spread_of="p95_latency_ms"),
        Objective("throughput_cv", _BY_NAME["throughput_cv_in_run"], spread_of="throughput_mib_s"),
    ),
    more_objectives=tuple(
        Objective(name, _BY_NAME[name])
        for name in ("stored_bytes_per_record", "requests_per_thousand_records", "client_cpu_s_per_million_records")
    ),
    case_features=(Feature("record_size_bytes", RECORD_SIZE, ("case",), _record_size_bytes),),
    derived_features=(Feature("records_per_batch", "records_per_batch", ("batch.size", "case"), _records_per_batch),),
)
