"""Lists the drivers that can be run."""

from __future__ import annotations

from kafka_pareto.drivers.consumer.driver import ConsumerDriver
from kafka_pareto.drivers.ingestion.driver import IngestionDriver
from kafka_pareto.drivers.log_pipeline.driver import LogPipelineDriver
from kafka_pareto.drivers.producer.driver import ProducerDriver
from kafka_pareto.drivers.services.driver import ServicesDriver
from kafka_pareto.measurement.driver_runtime import DriverRuntime
from kafka_pareto.study.study import Study

DRIVERS: dict[str, DriverRuntime] = {
    "producer": ProducerDriver(),
    "consumer": ConsumerDriver(),
    "ingestion": IngestionDriver(),
    "services": ServicesDriver(),
    "log_pipeline": LogPipelineDriver(),
}


def driver_of(study: Study) -> DriverRuntime:
    """Returns what runs the study's driver."""
    return DRIVERS[study.declaration.name]
