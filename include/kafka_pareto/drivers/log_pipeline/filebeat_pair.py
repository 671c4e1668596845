"""Ship a log to a topic with Filebeat and an aggregator that speaks the Beats protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.drivers.common.child_process import ChildProcess, start_ready
from kafka_pareto.drivers.log_pipeline.programs import READY_S, Programs
from kafka_pareto.drivers.log_pipeline.web_parts import environment
from kafka_pareto.kafka.known_properties import PropertyValue

# Filebeat's default queue size; it rejects a larger flush.min_events.
_QUEUE_EVENTS = 4096
# An entry ends when the next one begins, or after 5 s without a line: the last before a pause waits that long.
_OBJECTS = {"type": "pattern", "pattern": r"^\{", "negate": True, "match": "after"}
MAIN_CLASS = "io.kafkapareto.aggregator.Aggregator"
HEAP_MIB = 256


@dataclass
class FilebeatPair:
    """Runs Filebeat, with its state in `folder`, and the aggregator: a `Shipping`."""

    folder: Path
    programs: Programs
    log_file: Path
    settings: Mapping[str, PropertyValue]
    aggregator: AggregatorSettings

    @property
    def batching_ms(self) -> int:
        """Return how long Filebeat's queue, the aggregator's batch and its producer wait for more events."""
        flush_ms = int(self.settings["flush_timeout_ms"]) if int(self.settings["flush_min_events"]) > 1 else 0
        return flush_ms + self.aggregator.batch_delay_ms + self.aggregator.linger_ms

    @property
    def poll_pause_ms(self) -> int:
        """Return Filebeat's longest pause at the end of a file."""
        return int(self.settings["max_backoff_ms"])

    def start_aggregator(self) -> ChildProcess:
        """Start the aggregator and wait until it is ready."""
        argv = aggregator_argv(self.aggregator, self.programs.aggregator, self.programs.java)
        child, reported = start_ready("the aggregator", argv, environment(), READY_S)
        # After a restart it must listen where Filebeat expects it.
        self.aggregator = replace(self.aggregator, port=reported["port"])
        return child

    def start_shipper(self) -> ChildProcess:
        """Start Filebeat."""
        file, address = self.folder / "filebeat.yml", f"{LOOPBACK}:{self.aggregator.port}"
        file.write_text(filebeat_yml(self.settings, self.log_file, self.folder / "filebeat", address), encoding="utf-8")
        file.chmod(0o600)  # Filebeat rejects a file that others can write
        return ChildProcess("Filebeat", [str(self.programs.filebeat), "-c", str(file)], environment())


def filebeat_yml(settings: Mapping[str, PropertyValue], log_file: Path, folder: Path, aggregator: str) -> str:
    """Return Filebeat's configuration, with its state in `folder`; the log is followed under its rotated names, too."""
    configuration = {
        **shipping_configuration(settings, str(log_file), "output.stamped_logstash", aggregator),
        "path": {"home": str(folder), "data": str(folder / "data"), "logs": str(folder / "logs")},
        "logging": {"level": "warning", "to_stderr": True, "to_files": False, "metrics": {"enabled": False}},
        "http.enabled": False,
    }
    return yaml.safe_dump(configuration, sort_keys=False)


def shipping_configuration(
    settings: Mapping[str, PropertyValue], log_file: str, output: str, aggregator: str
) -> dict[str, Any]:
    """Return the parts of Filebeat's configuration that a study varies: input, queue, and output at key `output`."""
    log_input = {
        "type": "log",
        # Filebeat recognizes a renamed file by its inode, even after a restart.
        "paths": [log_file, f"{log_file}.[0-9]*"],
        # logrotate's delaycompress turns access.log.1, already shipped, into access.log.2.gz.
        "exclude_files": [r"\.gz$"],
        # Finds new files, and closed files that have grown.
        "scan_frequency": f"{settings['scan_frequency_ms']}ms",
        # The pause at the end of a file, doubled while nothing is added: a line waits half of it on average.
        "backoff": f"{settings['backoff_ms']}ms",
        "max_backoff": f"{settings['max_backoff_ms']}ms",
        "close_inactive": f"{settings['close_inactive_s']}s",
        # A renamed file is read to its end; a removed one is forgotten, since its inode may be reused.
        "close_renamed": False,
        "close_removed": True,
        "clean_removed": True,
        **({"multiline": _OBJECTS} if settings["log_lines"] == "multi" else {}),
    }
    # The queue emits min_events together, even above bulk_max_size, or fewer after the timeout. With min_events 1 or
    # timeout 0, events are emitted as they arrive.
    flush = {"min_events": settings["flush_min_events"], "timeout": f"{settings['flush_timeout_ms']}ms"}
    return {
        "filebeat.inputs": [log_input],
        "queue.mem": {"events": max(_QUEUE_EVENTS, int(settings["flush_min_events"])), "flush": flush},
        # By default each batch is compressed, which takes about as long for one event as for fifty: with
        # `bulk_max_size` 1 this is the bottleneck. One batch more than `pipelining` may be in flight.
        output: {
            "hosts": [aggregator],
            "bulk_max_size": settings["bulk_max_size"],
            "pipelining": settings["pipelining"],
        },
    }


@dataclass(frozen=True)
class AggregatorSettings:
    """Options of an aggregator; none may be secret, since other users can read command lines.

    Attributes:
        port: On 127.0.0.1; 0 for any free one, which its first line of output reports.
        workers: Threads that send batches.
        batch_size: Largest batch, in events.
        batch_delay_ms: How long an incomplete batch waits for each further event.
        acknowledge: `kafka` to acknowledge events once Kafka has; `received` once queued: a crash loses them.
        planted_delay_ms: For tests: delay of each batch before t4 (`receive`), or between t4 and producer (`send`).
    """

    bootstrap_servers: str
    topic: str
    port: int = 0
    workers: int = 2
    batch_size: int = 125
    batch_delay_ms: int = 50
    linger_ms: int = 0
    acks: str = "1"
    acknowledge: str = "kafka"
    planted_delay_ms: int = 0
    planted_at: str = "receive"


def aggregator_argv(settings: AggregatorSettings, jars: Path, java: str) -> list[str]:
    """Return the command line of an aggregator with the jars of `parts/aggregator/pom.xml`, on Java 17 or newer."""
    argv = [java, f"-Xmx{HEAP_MIB}m", "-cp", f"{jars.absolute()}/*", MAIN_CLASS]
    for name, value in asdict(settings).items():
        argv += [f"--{name.replace('_', '-')}", str(value)]
    return argv
