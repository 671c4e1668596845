"""Ship a log to a topic with Filebeat and an aggregator that speaks the Beats protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.drivers.common.child_process import ChildProcess, start_ready
from kafka_pareto.drivers.log_pipeline.programs import READY_S, Programs, environment
from kafka_pareto.drivers.log_pipeline.web_parts import log_lines_of
from kafka_pareto.study.factors import FactorValue

# Filebeat's default queue size; it rejects a flush.min_events above the size.
_QUEUE_EVENTS = 4096
# An entry ends when the next one begins, or after 5 s without a line: the last before a pause waits that long.
_OBJECTS = {"type": "pattern", "pattern": r"^\{", "negate": True, "match": "after"}
MAIN_CLASS = "io.kafkapareto.aggregator.Aggregator"
HEAP_MIB = 256


class FilebeatPair:
    """Runs Filebeat, with its state in `folder`, and the aggregator: a `Shipping`."""

    def __init__(
        self,
        folder: Path,
        programs: Programs,
        log_file: Path,
        filebeat: FilebeatSettings,
        aggregator: AggregatorSettings,
    ) -> None:
        self._folder = folder
        self._programs = programs
        self._log_file = log_file
        self._filebeat, self._aggregator = filebeat, aggregator

    @property
    def holds_ms(self) -> int:
        """Return how long Filebeat's queue, the aggregator's batch and its producer wait for more."""
        flush_ms = self._filebeat.flush_timeout_ms if self._filebeat.flush_min_events > 1 else 0
        return flush_ms + self._aggregator.batch_delay_ms + self._aggregator.linger_ms

    @property
    def sleeps_ms(self) -> int:
        """Return Filebeat's longest pause at the end of a file."""
        return self._filebeat.max_backoff_ms

    def start_aggregator(self) -> ChildProcess:
        """Start the aggregator and wait until it is ready."""
        argv = aggregator_argv(self._aggregator, self._programs.aggregator, self._programs.java)
        child, said = start_ready("the aggregator", argv, environment(), READY_S)
        # After a restart it must listen where Filebeat expects it.
        self._aggregator = replace(self._aggregator, port=said["port"])
        return child

    def start_shipper(self) -> ChildProcess:
        """Start Filebeat."""
        configuration, aggregator = self._folder / "filebeat.yml", f"{LOOPBACK}:{self._aggregator.port}"
        configuration.write_text(
            filebeat_yml(self._filebeat, self._log_file, self._folder / "filebeat", aggregator), encoding="utf-8"
        )
        configuration.chmod(0o600)  # Filebeat refuses one that others may write
        return ChildProcess("Filebeat", [str(self._programs.filebeat), "-c", str(configuration)], environment())


@dataclass(frozen=True)
class FilebeatSettings:
    """Settings of Filebeat that a study varies; times are at least 1 ms, except the flush timeout.

    Attributes:
        log_lines: `multi` if a log entry is a JSON object on several lines, `single` if it is on one.
        scan_frequency_ms: Interval between searches for new files, and closed files that have grown.
        close_inactive_s: A file that has not grown for this long is closed.
        backoff_ms: Pause at the end of a file; a line waits half of it on average. Doubles while nothing is added.
        max_backoff_ms: Upper bound of that pause.
        flush_min_events: The queue emits this many events at once, even if `bulk_max_size` is larger, or those it has
            once the oldest has waited `flush_timeout_ms`. With 1, events are emitted as they come, up to
            `bulk_max_size` per batch, and the timeout has no effect.
        flush_timeout_ms: See `flush_min_events`; 0 has the effect of `flush_min_events` 1.
        bulk_max_size: Upper bound of a batch's events; 0 for none.
        pipelining: Batches in flight beyond the first; 0 waits for each acknowledgement.
    """

    log_lines: Literal["multi", "single"]
    scan_frequency_ms: int
    close_inactive_s: int
    backoff_ms: int
    max_backoff_ms: int
    flush_min_events: int
    flush_timeout_ms: int
    bulk_max_size: int
    pipelining: int


def filebeat_settings(found: Mapping[str, FactorValue]) -> FilebeatSettings:
    """Select Filebeat's settings from those of a pipeline."""
    numbers = {each.name: int(found[each.name]) for each in fields(FilebeatSettings) if each.name != "log_lines"}
    return FilebeatSettings(log_lines_of(found), **numbers)


def filebeat_yml(settings: FilebeatSettings, log_file: Path, folder: Path, aggregator: str) -> str:
    """Return Filebeat's configuration; Filebeat rejects a file that other users may write.

    It follows the log under its rotated names (`<log_file>.1`, …), too, and keeps its state in `folder`. `aggregator`
    is `host:port`.
    """
    configuration = {
        **shipping_configuration(settings, str(log_file), "output.stamped_logstash", aggregator),
        "path": {"home": str(folder), "data": str(folder / "data"), "logs": str(folder / "logs")},
        "logging": {"level": "warning", "to_stderr": True, "to_files": False, "metrics": {"enabled": False}},
        "http.enabled": False,
    }
    return yaml.safe_dump(configuration, sort_keys=False)


def shipping_configuration(settings: FilebeatSettings, log_file: str, output: str, aggregator: str) -> dict[str, Any]:
    """Return input, queue and output (under the key `output`) of Filebeat's configuration: all that a study varies."""
    return {
        "filebeat.inputs": [_input(settings, log_file)],
        "queue.mem": {
            "events": max(_QUEUE_EVENTS, settings.flush_min_events),
            "flush": {"min_events": settings.flush_min_events, "timeout": f"{settings.flush_timeout_ms}ms"},
        },
        # Each batch is compressed by default, which takes about as long for one event as for fifty: it limits the rate
        # if `bulk_max_size` is 1.
        output: {
            "hosts": [aggregator],
            "bulk_max_size": settings.bulk_max_size,
            "pipelining": settings.pipelining,
        },
    }


def _input(settings: FilebeatSettings, log_file: str) -> dict[str, Any]:
    lines = {"multiline": _OBJECTS} if settings.log_lines == "multi" else {}
    return {
        "type": "log",
        # Filebeat recognizes a renamed file by its inode, even after a restart.
        "paths": [log_file, f"{log_file}.[0-9]*"],
        # logrotate's delaycompress turns access.log.1, already shipped, into access.log.2.gz.
        "exclude_files": [r"\.gz$"],
        "scan_frequency": f"{settings.scan_frequency_ms}ms",
        "backoff": f"{settings.backoff_ms}ms",
        "max_backoff": f"{settings.max_backoff_ms}ms",
        "close_inactive": f"{settings.close_inactive_s}s",
        # A renamed file is read to its end; a removed one is forgotten, since its inode may be reused.
        "close_renamed": False,
        "close_removed": True,
        "clean_removed": True,
        **lines,
    }


@dataclass(frozen=True)
class PlantedDelay:
    """A delay of each batch, for tests: before t4 (`receive`), or between t4 and the producer (`send`)."""

    delay_ms: int
    at: Literal["receive", "send"]


@dataclass(frozen=True)
class AggregatorSettings:
    """Options of an aggregator; none is secret, since command lines are public.

    Attributes:
        port: On 127.0.0.1; 0 for any free one, which its first line of output reports.
        workers: Threads that send batches.
        batch_size: Largest batch, in events.
        batch_delay_ms: How long an incomplete batch waits for each further event.
        acknowledge: `kafka`: acknowledge events once Kafka has; `received`: once they are queued, so a crash loses
            them.
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
    planted_delay: PlantedDelay | None = None


def aggregator_argv(settings: AggregatorSettings, jars: Path, java: str) -> list[str]:
    """Return the command line of an aggregator, whose jars `parts/aggregator/pom.xml` builds; `java` is 17 or newer."""
    argv = [java, f"-Xmx{HEAP_MIB}m", "-cp", f"{jars.absolute()}/*", MAIN_CLASS]
    argv += ["--bootstrap-servers", settings.bootstrap_servers, "--topic", settings.topic]
    argv += ["--port", str(settings.port), "--workers", str(settings.workers)]
    argv += ["--batch-size", str(settings.batch_size), "--batch-delay-ms", str(settings.batch_delay_ms)]
    argv += ["--linger-ms", str(settings.linger_ms), "--acks", settings.acks]
    argv += ["--acknowledge", settings.acknowledge]
    if settings.planted_delay:
        argv += ["--planted-delay-ms", str(settings.planted_delay.delay_ms)]
        argv += ["--planted-at", settings.planted_delay.at]
    return argv
