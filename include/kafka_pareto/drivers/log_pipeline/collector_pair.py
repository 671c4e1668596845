"""Ship a log to a topic with two OpenTelemetry Collectors: an agent that follows the log, and a gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.drivers.common.child_process import ChildProcess, start_ready
from kafka_pareto.drivers.log_pipeline.programs import READY_S
from kafka_pareto.drivers.log_pipeline.web_parts import environment
from kafka_pareto.study.factors import FactorValue

_ACKS = {"0": 0, "1": 1, "all": -1}
# Without it the receiver marks an entry as read while it is still buffered: a killed agent loses it.
_FEATURE_GATE = "--feature-gates=stanza.synchronousLogEmitter"


@dataclass(frozen=True)
class CollectorSettings:
    """Destination of both Collectors, and the study's settings (`values`); all else is the Collector's default.

    Attributes:
        planted_delay_ms: Delay of each batch before its timestamp, for tests.
        planted_at: The delayed timestamp; not t1, which is taken per entry.
    """

    bootstrap_servers: str
    topic: str
    values: Mapping[str, FactorValue]
    planted_delay_ms: int = 0
    planted_at: str = "t4"


@dataclass
class CollectorPair:
    """Runs agent and gateway, with configurations and the agent's state in `folder`: a `Shipping`."""

    folder: Path
    program: Path
    log_file: Path
    settings: CollectorSettings
    _port: int = 0

    @property
    def batching_ms(self) -> int:
        """Return how long the gateway's batch waits for more entries."""
        return int(self.settings.values["otel_batch_timeout_ms"])

    @property
    def poll_pause_ms(self) -> int:
        """Return the agent's poll interval."""
        return int(self.settings.values["otel_poll_interval_ms"])

    def start_aggregator(self) -> ChildProcess:
        """Start the gateway and wait until it is ready."""
        self._port = self._port or free_ports(1)[0]
        return self._start("gateway", gateway_yaml(self.settings, self._port))

    def start_shipper(self) -> ChildProcess:
        """Start the agent and wait until it is ready."""
        state = self.folder / "agent"
        state.mkdir(exist_ok=True)
        return self._start("agent", agent_yaml(self.settings, self.log_file, state, self._port), _FEATURE_GATE)

    def _start(self, name: str, configuration: str, *options: str) -> ChildProcess:
        file = self.folder / f"{name}.yaml"
        file.write_text(configuration, encoding="utf-8")
        argv = [str(self.program), "--config", f"file:{file}", *options]
        child, _ = start_ready(f"the {name}", argv, environment(), READY_S)
        return child


def agent_yaml(settings: CollectorSettings, log_file: Path, state: Path, port: int) -> str:
    """Return the agent's configuration.

    As with Filebeat, an entry counts as read once the gateway has it, and is sent again until then, without time limit.
    The agent follows the log under its rotated names (`<log_file>.1`, …), too, and keeps its position in `state`.
    """
    followed = {
        "include": [str(log_file), f"{log_file}.[0-9]*"],
        "exclude": [f"{log_file}*.gz"],
        "start_at": "beginning",
        "poll_interval": f"{settings.values['otel_poll_interval_ms']}ms",
        "storage": "file_storage",
        "retry_on_failure": {"enabled": True, "max_elapsed_time": "0s"},
        **({"multiline": {"line_start_pattern": r"^\{"}} if settings.values["log_lines"] == "multi" else {}),
    }
    sent = {
        "endpoint": f"{LOOPBACK}:{port}",
        "tls": {"insecure": True},
        "sending_queue": {"wait_for_result": True},
        "retry_on_failure": {"max_elapsed_time": "0s"},
    }
    return _collector_yaml(
        receivers={"file_log": followed},
        processors={"stamp/read": {**_stamp(settings, "t1"), "parse": True}, "stamp/sent": _stamp(settings, "t2")},
        exporters={"otlp_grpc": sent},
        extensions={"file_storage": {"directory": str(state)}},
    )


def gateway_yaml(settings: CollectorSettings, port: int) -> str:
    """Return the configuration of a gateway that listens on `port`."""
    values = settings.values
    # A batch is sent when it is full, or this long after the last one or the last check: the mean wait is half of that.
    batch = {"send_batch_size": values["otel_batch_size"], "timeout": f"{values['otel_batch_timeout_ms']}ms"}
    sent = {
        "brokers": [settings.bootstrap_servers],
        "logs": {"topic": settings.topic, "encoding": "raw"},
        "producer": {"required_acks": _ACKS[str(values["acks"])]},
    }
    return _collector_yaml(
        receivers={"otlp": {"protocols": {"grpc": {"endpoint": f"{LOOPBACK}:{port}"}}}},
        processors={"stamp/received": _stamp(settings, "t3"), "batch": batch, "stamp/sent": _stamp(settings, "t4")},
        exporters={"kafka": sent},
        extensions={},
    )


def _stamp(settings: CollectorSettings, name: str) -> dict[str, Any]:
    is_delayed = settings.planted_delay_ms and settings.planted_at == name
    return {"name": name, **({"planted_delay_ms": settings.planted_delay_ms} if is_delayed else {})}


def _collector_yaml(**components: dict[str, Any]) -> str:
    named = {kind: [*each] for kind, each in components.items()}
    service = {
        "extensions": named.pop("extensions"),
        "pipelines": {"logs": named},
        # By default a Collector opens a port for its own metrics.
        "telemetry": {"logs": {"level": "warn"}, "metrics": {"level": "none"}},
    }
    return yaml.safe_dump({**components, "service": service}, sort_keys=False)
