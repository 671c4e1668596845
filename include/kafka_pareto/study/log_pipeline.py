"""Declares the driver `log_pipeline`: access logs that go from a web server to a Hive table."""

from __future__ import annotations

from dataclasses import fields

from kafka_pareto.study.declaration import Driver, Objective
from kafka_pareto.study.log_pipeline_quantities import LOG_PIPELINE_QUANTITIES, StageFigures

_BY_NAME = {each.name: each for each in LOG_PIPELINE_QUANTITIES}

LOG_PIPELINE = Driver(
    name="log_pipeline",
    identity=("kafka_version", "cluster_id"),
    quantities=LOG_PIPELINE_QUANTITIES,
    suite_file="log_pipeline.yaml",
    case_words=("part", "parts"),
    stages=tuple(each.name for each in fields(StageFigures) if not each.name.endswith("_p95_ms")),
    settings_word="settings of a log pipeline",
    settings_file="log_pipeline.properties",
    objectives=tuple(
        Objective(name, _BY_NAME[name])
        for name in ("latency_p95_ms", "committed_events_s", "cpu_s_per_thousand_events", "packets_per_event")
    ),
)
