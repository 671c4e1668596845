from __future__ import annotations

from kafka_pareto.drivers.log_pipeline.study import PIPELINE_SETTINGS
from kafka_pareto.study.factors import FactorValue

DEFAULTS: dict[str, FactorValue] = {each.name: each.value(each.default) for each in PIPELINE_SETTINGS}
LIGHT = {
    "nginx_to_filebeat_ms": 510.0,
    "filebeat_ms": 1040.0,
    "filebeat_to_aggregator_ms": 5.0,
    "aggregator_ms": 52.0,
    "aggregator_to_kafka_ms": 3.0,
    "kafka_to_spark_ms": 360.0,
    "spark_to_hive_ms": 700.0,
    "filebeat_cores": 0.02,
    "aggregator_cores": 0.02,
    "broker_cores": 0.02,
    "committed_events_s": 40.0,
}
