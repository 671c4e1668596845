"""The studies of the driver `producer`: one class per kind of question."""

from __future__ import annotations

from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.drivers.producer.tune import TuneProducer

STUDIES = {"tune": TuneProducer, "compare": CompareProducer}
