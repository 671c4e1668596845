"""Ship a log to a topic with two OpenTelemetry Collectors: an agent, which follows it, and a gateway."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.drivers.common.child_process import ChildProcess, start_ready
from kafka_pareto.drivers.log_pipeline.programs import READY_S, environment

_ACKS = {"0": 0, "1": 1, "all": -1}
# Without it the receiver marks an entry as read while it is still buffered: a killed agent loses it.
_FEATURE_GATE = "--feature-gates=stanza.synchronousLogEmitter"


@dataclass(frozen=True)
class CollectorSettings:
    """What a study or a test varies; everything else has the Collector's default.

    Attributes:
        log_lines: `multi` if a log entry is a JSON object on several lines, `single` if it is on one.
        poll_interval_ms: Interval at which the agent checks the log for growth.
        batch_size: Events at which the gateway sends a batch.
        batch_timeout_ms: Or time since the last batch, or the last check for events; the mean wait is half of it.
        planted_delay_ms: Delay of each batch before its timestamp, for tests.
        planted_at: The timestamp to delay; not t1, which is per entry.
    """

    bootstrap_servers: str
    topic: str
    log_lines: Literal["multi", "single"]
    poll_interval_ms: int
    batch_size: int
    batch_timeout_ms: int
    acks: Literal["0", "1", "all"]
    planted_delay_ms: int = 0
    planted_at: Literal["t2", "t3", "t4"] = "t4"


class CollectorPair:
    """Runs agent and gateway, with configurations and the agent's state in `folder`: a `Shipping`."""

    def __init__(self, folder: Path, program: Path, log_file: Path, settings: CollectorSettings) -> None:
        self._folder = folder
        self._program = program
        self._log_file = log_file
        self._settings = settings
        self._port = 0

    @property
    def holds_ms(self) -> int:
        """Return how long the gateway's batch waits for more."""
        return self._settings.batch_timeout_ms

    @property
    def sleeps_ms(self) -> int:
        """Return the agent's poll interval."""
        return self._settings.poll_interval_ms

    def start_aggregator(self) -> ChildProcess:
        """Start the gateway and wait until it is ready."""
        self._port = self._port or free_ports(1)[0]
        return self._start("gateway", gateway_yaml(self._settings, self._port))

    def start_shipper(self) -> ChildProcess:
        """Start the agent and wait until it is ready."""
        state = self._folder / "agent"
        state.mkdir(exist_ok=True)
        return self._start("agent", agent_yaml(self._settings, self._log_file, state, self._port), _FEATURE_GATE)

    def _start(self, name: str, configuration: str, *options: str) -> ChildProcess:
        file = self._folder / f"{name}.yaml"
        file.write_text(configuration, encoding="utf-8")
        argv = [str(self._program), "--config", f"file:{file}", *options]
        child, _ = start_ready(f"the {name}", argv, environment(), READY_S)
        return child


def agent_yaml(settings: CollectorSettings, log_file: Path, state: Path, port: int) -> str:
    """Return the agent's configuration.

    As with Filebeat, an entry counts as read once the gateway has it, and is sent again until then, without time limit.
    The agent follows the log under its rotated names (`<log_file>.1`, …), too, and keeps its position in `state`.
    """
    lines = {"multiline": {"line_start_pattern": r"^\{"}} if settings.log_lines == "multi" else {}
    followed = {
        "include": [str(log_file), f"{log_file}.[0-9]*"],
        "exclude": [f"{log_file}*.gz"],
        "start_at": "beginning",
        "poll_interval": f"{settings.poll_interval_ms}ms",
        "storage": "file_storage",
        "retry_on_failure": {"enabled": True, "max_elapsed_time": "0s"},
        **lines,
    }
    sent = {
        "endpoint": f"{LOOPBACK}:{port}",
        "tls": {"insecure": True},
        "sending_queue": {"wait_for_result": True},
        "retry_on_failure": {"max_elapsed_time": "0s"},
    }
    return _collector_yaml(
        receiver={"file_log": followed},
        processors={"stamp/read": _stamp(settings, "t1", parse=True), "stamp/sent": _stamp(settings, "t2")},
        exporter={"otlp_grpc": sent},
        extension={"file_storage": {"directory": str(state)}},
    )


def gateway_yaml(settings: CollectorSettings, port: int) -> str:
    """Return the configuration of a gateway that listens on `port`."""
    batch = {"send_batch_size": settings.batch_size, "timeout": f"{settings.batch_timeout_ms}ms"}
    sent = {
        "brokers": [settings.bootstrap_servers],
        "logs": {"topic": settings.topic, "encoding": "raw"},
        "producer": {"required_acks": _ACKS[settings.acks]},
    }
    return _collector_yaml(
        receiver={"otlp": {"protocols": {"grpc": {"endpoint": f"{LOOPBACK}:{port}"}}}},
        processors={
            "stamp/received": _stamp(settings, "t3"),
            "batch": batch,
            "stamp/sent": _stamp(settings, "t4"),
        },
        exporter={"kafka": sent},
    )


def _stamp(settings: CollectorSettings, name: str, *, parse: bool = False) -> dict[str, Any]:
    is_delayed = settings.planted_delay_ms and settings.planted_at == name
    delayed = {"planted_delay_ms": settings.planted_delay_ms} if is_delayed else {}
    return {"name": name, **({"parse": True} if parse else {}), **delayed}


def _collector_yaml(
    receiver: dict[str, Any],
    processors: dict[str, Any],
    exporter: dict[str, Any],
    extension: dict[str, Any] | None = None,
) -> str:
    pipeline = {"receivers": [*receiver], "processors": [*processors], "exporters": [*exporter]}
    configuration = {
        "receivers": receiver,
        "processors": processors,
        "exporters": exporter,
        "extensions": extension or {},
        "service": {
            "extensions": [*(extension or {})],
            "pipelines": {"logs": pipeline},
            # By default a Collector opens a port for its own metrics.
            "telemetry": {"logs": {"level": "warn"}, "metrics": {"level": "none"}},
        },
    }
    return yaml.safe_dump(configuration, sort_keys=False)
