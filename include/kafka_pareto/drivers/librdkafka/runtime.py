"""The runtime of the driver `librdkafka`: the producer's, whose load generator sends with either client."""

from __future__ import annotations

from kafka_pareto.drivers.producer.runtime import RUNTIME

__all__ = ["RUNTIME"]
