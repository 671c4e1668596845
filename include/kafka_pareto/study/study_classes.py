"""Lists which studies there are: one class for each pair of a kind and a driver."""

from __future__ import annotations

from kafka_pareto.study.compare_consumer import CompareConsumer
from kafka_pareto.study.compare_ingestion import CompareIngestion
from kafka_pareto.study.compare_log_pipeline import CompareLogPipeline
from kafka_pareto.study.compare_producer import CompareProducer
from kafka_pareto.study.compare_services import CompareServices
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune_log_pipeline import TuneLogPipeline
from kafka_pareto.study.tune_producer import TuneProducer

STUDY_CLASSES: dict[tuple[str, str], type[Study]] = {
    ("tune", "producer"): TuneProducer,
    ("tune", "log_pipeline"): TuneLogPipeline,
    ("compare", "producer"): CompareProducer,
    ("compare", "consumer"): CompareConsumer,
    ("compare", "ingestion"): CompareIngestion,
    ("compare", "services"): CompareServices,
    ("compare", "log_pipeline"): CompareLogPipeline,
}
"""Which class checks a file, by its `kind` and its `driver`."""
