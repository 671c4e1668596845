"""Declaration of the driver `log_pipeline`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from kafka_pareto.drivers.log_pipeline.client_files import (
    aggregator_properties,
    filebeat_yml,
    logstash_yml,
    spark_properties,
)
from kafka_pareto.drivers.log_pipeline.quantities import LOG_PIPELINE_QUANTITIES, StageFigures
from kafka_pareto.study.declaration import ClientFile, Driver, Objective, OverTime

_BY_NAME = {each.name: each for each in LOG_PIPELINE_QUANTITIES}

DRIVER = Driver(
    name="log_pipeline",
    identity=("kafka_version", "cluster_id"),
    quantities=LOG_PIPELINE_QUANTITIES,
    expectations=Path(__file__).with_name("expectations.yaml"),
    case_words=("part", "parts"),
    stages=tuple(each.name for each in fields(StageFigures) if not each.name.endswith("_p95_ms")),
    over_time=OverTime(begins_with="request", done="committed", waiting="queue_events"),
    settings_word="log pipeline settings",
    settings_file="log_pipeline.properties",
    client_files=(
        ClientFile("filebeat.yml", filebeat_yml),
        ClientFile("logstash.yml", logstash_yml),
        ClientFile("producer.properties", aggregator_properties),
        ClientFile("spark.properties", spark_properties),
    ),
    objectives=tuple(
        Objective(name, _BY_NAME[name])
        for name in ("latency_p95_ms", "committed_events_s", "cpu_s_per_thousand_events", "packets_per_event")
    ),
)
