"""Declares the driver `ingestion`: the rows of a CSV file, sent to a topic."""

from __future__ import annotations

from kafka_pareto.study.declaration import Driver, Objective
from kafka_pareto.study.ingestion_quantities import INGESTION_QUANTITIES

_BY_NAME = {each.name: each for each in INGESTION_QUANTITIES}

INGESTION = Driver(
    name="ingestion",
    identity=("kafka_version", "cluster_id", "java_version", "file_hash"),
    counted=("brokers",),
    quantities=INGESTION_QUANTITIES,
    suite_file="ingestion.yaml",
    case_words=("part", "parts"),
    settings_word="ingestion settings",
    settings_file="ingestion.properties",
    objectives=(
        Objective("rows_s", _BY_NAME["rows_s"]),
        Objective("client_cpu_s_per_million_rows", _BY_NAME["client_cpu_s_per_million_rows"]),
    ),
)
