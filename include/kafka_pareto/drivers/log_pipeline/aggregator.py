"""Builds the command line of the aggregator, which takes events from Filebeat and sends them to Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import property_text

MAIN_CLASS = "io.kafkapareto.aggregator.Aggregator"
HEAP_MIB = 256


@dataclass(frozen=True)
class PlantedDelay:
    """Holds a delay of each batch, so that a test sees whether it is found where it is.

    Attributes:
        at: `receive` for before t4 is stamped, `send` for between that and the producer.
    """

    delay_ms: int
    at: Literal["receive", "send"]


@dataclass(frozen=True)
class AggregatorSettings:
    """Holds what an aggregator is asked for. None of it is secret: a command line is seen by everybody.

    Attributes:
        port: Where it listens on 127.0.0.1; 0 for any, which its first line tells.
        workers: How many threads send batches.
        batch_size: How many events a batch has at most.
        batch_delay_ms: How long a batch that is not full waits for each further event.
        acknowledge: `kafka` to acknowledge events once Kafka has; `received` to do so once they are queued, which loses
            them with the process.
        drain_s: How long it may take, when it is ended, to send what it has taken.
        producer: Further properties of its producer.
    """

    bootstrap_servers: str
    topic: str
    port: int = 0
    workers: int = 2
    batch_size: int = 125
    batch_delay_ms: int = 50
    linger_ms: int = 0
    acks: Literal["0", "1", "all"] = "1"
    acknowledge: Literal["kafka", "received"] = "kafka"
    drain_s: int = 10
    producer: Mapping[str, PropertyValue] = field(default_factory=dict)
    planted_delay: PlantedDelay | None = None


def aggregator_argv(settings: AggregatorSettings, jars: Path, java: str) -> list[str]:
    """Returns the command line of an aggregator.

    Args:
        settings: Of this aggregator.
        jars: The folder that `include/kafka_pareto/drivers/log_pipeline/parts/aggregator/pom.xml` fills.
        java: The Java 17+ command.
    """
    argv = [java, f"-Xmx{HEAP_MIB}m", "-cp", f"{jars.absolute()}/*", MAIN_CLASS]
    argv += ["--bootstrap-servers", settings.bootstrap_servers, "--topic", settings.topic]
    argv += ["--port", str(settings.port), "--workers", str(settings.workers)]
    argv += ["--batch-size", str(settings.batch_size), "--batch-delay-ms", str(settings.batch_delay_ms)]
    argv += ["--linger-ms", str(settings.linger_ms), "--acks", settings.acks]
    argv += ["--acknowledge", settings.acknowledge, "--drain-s", str(settings.drain_s)]
    for name, value in settings.producer.items():
        argv += ["--producer", f"{name}={property_text(value)}"]
    if settings.planted_delay:
        argv += ["--planted-delay-ms", str(settings.planted_delay.delay_ms)]
        argv += ["--planted-at", settings.planted_delay.at]
    return argv
