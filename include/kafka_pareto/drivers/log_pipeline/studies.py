"""Study classes of the driver `log_pipeline`, by kind."""

from __future__ import annotations

from kafka_pareto.drivers.log_pipeline.compare import CompareLogPipeline
from kafka_pareto.drivers.log_pipeline.tune import TuneLogPipeline

STUDIES = {"tune": TuneLogPipeline, "compare": CompareLogPipeline}
