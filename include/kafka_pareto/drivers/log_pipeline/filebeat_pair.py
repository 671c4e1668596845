"""Takes a log to a topic with Filebeat and the aggregator that speaks its protocol: settings, and processes."""

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

# The queue's size by default. Filebeat refuses a queue that is to collect more than it holds.
_QUEUE_EVENTS = 4096
# An entry is handed on when the next one begins, or no line came for 5 s: the last before a pause waits that long.
_OBJECTS = {"type": "pattern", "pattern": r"^\{", "negate": True, "match": "after"}
MAIN_CLASS = "io.kafkapareto.aggregator.Aggregator"
HEAP_MIB = 256


class FilebeatPair:
    """Starts Filebeat and the aggregator: the `Shipping` of these two.

    Args:
        folder: Where Filebeat's state lies.
        programs: Where they are.
        log_file: The log.
        filebeat: What Filebeat is set to.
        aggregator: What the aggregator is set to, broker and topic among it.
    """

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
        """Returns how long Filebeat's queue, the aggregator's batch and its producer wait for more."""
        flush_ms = self._filebeat.flush_timeout_ms if self._filebeat.flush_min_events > 1 else 0
        return flush_ms + self._aggregator.batch_delay_ms + self._aggregator.linger_ms

    @property
    def sleeps_ms(self) -> int:
        """Returns Filebeat's longest pause at the end of a file."""
        return self._filebeat.max_backoff_ms

    def start_aggregator(self) -> ChildProcess:
        """Starts the aggregator, and waits until it is ready."""
        argv = aggregator_argv(self._aggregator, self._programs.aggregator, self._programs.java)
        child, said = start_ready("the aggregator", argv, environment(), READY_S)
        # One that is started anew listens where Filebeat looks for it.
        self._aggregator = replace(self._aggregator, port=said["port"])
        return child

    def start_shipper(self) -> ChildProcess:
        """Starts Filebeat."""
        configuration, aggregator = self._folder / "filebeat.yml", f"{LOOPBACK}:{self._aggregator.port}"
        configuration.write_text(
            filebeat_yml(self._filebeat, self._log_file, self._folder / "filebeat", aggregator), encoding="utf-8"
        )
        configuration.chmod(0o600)  # Filebeat refuses one that others may write
        return ChildProcess("Filebeat", [str(self._programs.filebeat), "-c", str(configuration)], environment())


@dataclass(frozen=True)
class FilebeatSettings:
    """Holds the settings of Filebeat that a study varies. Those in milliseconds are at least 1, except the timeout.

    Args:
        log_lines: `multi` where an entry of the log is a JSON object over several lines, `single` where it is one line.
        scan_frequency_ms: Pause between two searches for files that are new, or were closed and have grown. A file
            that is open is read on without them.
        close_inactive_s: A file that has not grown for so long is closed.
        backoff_ms: Pause before a file is read on whose end was reached: a line waits for half of it on average,
            whatever the rest is set to. Doubles each time that nothing was added.
        max_backoff_ms: Upper bound of that pause.
        flush_min_events: The queue hands out so many events at once, also where `bulk_max_size` is larger, or those
            that it has once the oldest has waited for `flush_timeout_ms`. With 1, events are handed out as they come,
            up to `bulk_max_size` in a batch, and the timeout has no effect.
        flush_timeout_ms: See `flush_min_events`. 0 does the same as `flush_min_events` 1.
        bulk_max_size: Upper bound of a batch's events; 0 sets none.
        pipelining: So many batches, and one more, may be on their way unacknowledged. With 0 each is waited for.
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
    """Picks Filebeat's settings out of those of a pipeline."""
    numbers = {each.name: int(found[each.name]) for each in fields(FilebeatSettings) if each.name != "log_lines"}
    return FilebeatSettings(log_lines_of(found), **numbers)


def filebeat_yml(settings: FilebeatSettings, log_file: Path, folder: Path, aggregator: str) -> str:
    """Returns the text of Filebeat's configuration file, which Filebeat reads only if no other user may write it.

    Args:
        settings: What a study varies.
        log_file: The access log to follow, also under the names `<log_file>.1` and so on, once it was rotated.
        folder: Where Filebeat keeps its state.
        aggregator: `host:port` of the server that speaks Beats' protocol.
    """
    configuration = {
        **shipping_configuration(settings, str(log_file), "output.stamped_logstash", aggregator),
        "path": {"home": str(folder), "data": str(folder / "data"), "logs": str(folder / "logs")},
        "logging": {"level": "warning", "to_stderr": True, "to_files": False, "metrics": {"enabled": False}},
        "http.enabled": False,
    }
    return yaml.safe_dump(configuration, sort_keys=False)


def shipping_configuration(settings: FilebeatSettings, log_file: str, output: str, aggregator: str) -> dict[str, Any]:
    """Returns input, queue and output of Filebeat's configuration: all that a study varies.

    Args:
        settings: See `FilebeatSettings`.
        log_file: The access log.
        output: The output's key.
        aggregator: `host:port`.
    """
    return {
        "filebeat.inputs": [_input(settings, log_file)],
        "queue.mem": {
            "events": max(_QUEUE_EVENTS, settings.flush_min_events),
            "flush": {"min_events": settings.flush_min_events, "timeout": f"{settings.flush_timeout_ms}ms"},
        },
        # By default each batch is compressed, which takes about as long for one event as for fifty: it is what bounds
        # the rate where `bulk_max_size` is 1.
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
        # A renamed file is known again by its inode, also by a Filebeat that was started anew.
        "paths": [log_file, f"{log_file}.[0-9]*"],
        # logrotate's delaycompress makes access.log.2.gz of what was shipped as access.log.1: text to nobody.
        "exclude_files": [r"\.gz$"],
        "scan_frequency": f"{settings.scan_frequency_ms}ms",
        "backoff": f"{settings.backoff_ms}ms",
        "max_backoff": f"{settings.max_backoff_ms}ms",
        "close_inactive": f"{settings.close_inactive_s}s",
        # A renamed file is read to its end; what was removed is forgotten, since its inode may be given away again.
        "close_renamed": False,
        "close_removed": True,
        "clean_removed": True,
        **lines,
    }


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
    argv += ["--acknowledge", settings.acknowledge]
    if settings.planted_delay:
        argv += ["--planted-delay-ms", str(settings.planted_delay.delay_ms)]
        argv += ["--planted-at", settings.planted_delay.at]
    return argv
