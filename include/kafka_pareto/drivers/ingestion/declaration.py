"""Declare the driver `ingestion`: the rows of a CSV file, sent to a topic."""

from __future__ import annotations

from pathlib import Path

from kafka_pareto.drivers.ingestion.quantities import INGESTION_QUANTITIES
from kafka_pareto.study.declaration import Driver, Objective, OverTime

_BY_NAME = {each.name: each for each in INGESTION_QUANTITIES}

DRIVER = Driver(
    name="ingestion",
    identity=("kafka_version", "cluster_id", "java_version", "file_hash"),
    counted=("brokers",),
    quantities=INGESTION_QUANTITIES,
    expectations=Path(__file__).with_name("expectations.yaml"),
    case_words=("part", "parts"),
    over_time=OverTime(
        begins_with="row", passes=(("cold_rows_s", "first rows of a new process"), ("rows_s", "after the warm-up"))
    ),
    settings_word="ingestion settings",
    settings_file="ingestion.properties",
    objectives=(
        Objective("rows_s", _BY_NAME["rows_s"]),
        Objective("client_cpu_s_per_million_rows", _BY_NAME["client_cpu_s_per_million_rows"]),
    ),
)
