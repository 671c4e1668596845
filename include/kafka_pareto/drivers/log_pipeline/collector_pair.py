"""Takes a log to a topic with two OpenTelemetry Collectors: an agent, which follows it, and a gateway."""

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
# Without it the receiver notes an entry as read while it lies in a buffer of its own: a killed agent loses that.
_FEATURE_GATE = "--feature-gates=stanza.synchronousLogEmitter"


@dataclass(frozen=True)
class CollectorSettings:
    """Holds what the two are set to; all else has the Collector's default.

    Attributes:
        log_lines: `multi` where an entry of the log is a JSON object over several lines, `single` where it is one line.
        poll_interval_ms: How often the agent looks whether the log has grown.
        batch_size: The gateway's batch goes on when it has so many events.
        batch_timeout_ms: Or when so long has gone by since the last one, or since it was last looked whether there is
            anything: an event waits for half of it on average.
        planted_delay_ms: Is waited for each batch before it is stamped, so that a test sees whether it is found there.
        planted_at: The stamp; not t1, which is of the entry, whenever it is written.
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
    """Starts an agent and a gateway: the `Shipping` of these two.

    Args:
        folder: Where their configurations and the agent's state lie.
        program: The Collector.
        log_file: The log.
        settings: What both are set to.
    """

    def __init__(self, folder: Path, program: Path, log_file: Path, settings: CollectorSettings) -> None:
        self._folder = folder
        self._program = program
        self._log_file = log_file
        self._settings = settings
        self._port = 0

    @property
    def holds_ms(self) -> int:
        """Returns how long the gateway's batch waits for more."""
        return self._settings.batch_timeout_ms

    @property
    def sleeps_ms(self) -> int:
        """Returns the time between two looks at the log."""
        return self._settings.poll_interval_ms

    def start_aggregator(self) -> ChildProcess:
        """Starts the gateway, and waits until it is ready."""
        self._port = self._port or free_ports(1)[0]
        return self._start("gateway", gateway_yaml(self._settings, self._port))

    def start_shipper(self) -> ChildProcess:
        """Starts the agent, and waits until it is ready."""
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
    """Returns the text of the agent's configuration file.

    It promises what Filebeat does: an entry counts as read when the gateway has it, and is sent again until then,
    however long that takes.

    Args:
        settings: What a study varies.
        log_file: The access log to follow, also under the names `<log_file>.1` and so on, once it was rotated.
        state: The folder where it keeps how far it has read.
        port: Where the gateway listens.
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
    """Returns the text of the gateway's configuration file.

    Args:
        settings: What a study varies.
        port: Where it is to listen.
    """
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
            # No port is opened for what a Collector says of itself.
            "telemetry": {"logs": {"level": "warn"}, "metrics": {"level": "none"}},
        },
    }
    return yaml.safe_dump(configuration, sort_keys=False)
