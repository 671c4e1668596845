"""Takes a log to a topic with Filebeat, and the aggregator that speaks its protocol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.drivers.common.child_process import ChildProcess, start_ready
from kafka_pareto.drivers.log_pipeline.aggregator import AggregatorSettings, aggregator_argv
from kafka_pareto.drivers.log_pipeline.filebeat import FilebeatSettings, filebeat_yml
from kafka_pareto.drivers.log_pipeline.programs import Programs
from kafka_pareto.drivers.log_pipeline.shipping import READY_S, environment


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
