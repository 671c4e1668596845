"""Choose the ports of the embedded stack.

Uses the standard library only: the preflight imports this before anything is installed.
"""

from __future__ import annotations

import socket
from typing import Any, Mapping, NamedTuple, Tuple  # noqa: UP035 - an old Python must reach the preflight's message

LOOPBACK = "127.0.0.1"

VARIABLES = {
    "airflow": "KAFKA_PARETO_AIRFLOW_PORT",
    "mlflow": "KAFKA_PARETO_MLFLOW_PORT",
    "minio": "KAFKA_PARETO_MINIO_PORT",
    "kafka": "KAFKA_PARETO_KAFKA_PORTS",
    "controllers": "KAFKA_PARETO_KAFKA_CONTROLLER_PORTS",
}


class Ports(NamedTuple):
    """The port of each server on loopback; each Kafka node has a broker port and a controller port."""

    airflow: int = 8080
    mlflow: int = 5000
    minio: int = 9000
    kafka: Tuple[int, ...] = (19092, 19093, 19094)  # noqa: UP006
    controllers: Tuple[int, ...] = (19192, 19193, 19194)  # noqa: UP006

    def by_server(self) -> list[tuple[str, int]]:
        """Return pairs of a server's name, as in `VARIABLES`, and one of its ports."""
        single = [(name, getattr(self, name)) for name in ("airflow", "mlflow", "minio")]
        return single + [("kafka", port) for port in self.kafka] + [("controllers", port) for port in self.controllers]


def read_ports(environment: Mapping[str, str]) -> Ports:
    """Return the default ports with the environment's changes.

    Raises:
        ValueError: If a port is invalid; the message names the variable, its value and the rule.
    """
    defaults = Ports()
    chosen: dict[str, Any] = {}
    for name, variable in VARIABLES.items():
        text = environment.get(variable)
        if text:
            default = getattr(defaults, name)
            several = isinstance(default, tuple)
            chosen[name] = _read(variable, text, len(default)) if several else _read(variable, text, 1)[0]
    ports = defaults._replace(**chosen)
    numbers = [port for _, port in ports.by_server()]
    twice = sorted({port for port in numbers if numbers.count(port) > 1})
    if twice:
        raise ValueError(
            f"port {twice[0]} is used twice: give each server a different one ({', '.join(VARIABLES.values())})"
        )
    return ports


def taken_ports(ports: Ports) -> list[str]:
    """Return one message for each port that is already in use."""
    return [
        f"port {port} ({server}) is in use: stop the program that listens there, or choose another port with "
        f"{VARIABLES[server]}=…"
        for server, port in ports.by_server()
        if _is_taken(port)
    ]


def _read(variable: str, text: str, count: int) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != count or not all(part.isdigit() and 1024 <= int(part) <= 65535 for part in parts):
        rule = "a port" if count == 1 else f"{count} ports, separated by commas, each"
        raise ValueError(f"{variable}={text}: must be {rule} from 1024 to 65535")
    return tuple(int(part) for part in parts)


def _is_taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Like the servers: an earlier connection in TIME_WAIT does not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
