"""Start the services and their client as processes that end with this one, and talk to hospital and client."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.brokers.processes import Opened
from kafka_pareto.drivers.common.child_process import READY, ChildProcess, end_all, run_to_end
from kafka_pareto.drivers.services.programs.alerts import Watched
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.programs.messages import Record
from kafka_pareto.drivers.services.programs.notification import TOKEN_VARIABLE
from kafka_pareto.drivers.services.topology import Topology

SERVICES = ("manufacturer", "transport", "monitor", "notification", "hospital")
SCALED = ("manufacturer", "transport")
"""Services of which several instances share the partitions."""
CLIENT = "client"
_LIBRARY = Path(__file__).parent.parent.parent.parent
_READY_S = 60.0
_GRACE_S = 15.0
_STOP_S = 10.0
_PLACED_ONLY = 20_000


class Chain(Opened):
    """A context in which the five services and a client run on a cluster that has their topics.

    Args:
        bootstrap_servers: The cluster's addresses.
        topology: The partitioning and the expected number of brokers.
        producer: librdkafka settings of every service's producer.
        delivery: `at_least_once`, or `exactly_once` for services that use transactions.
        instances: The number of manufacturers, and of transports; at most the partitions.
        rules: The monitor's bounds, by watched value.

    Attributes:
        events_port: The loopback port on which clients follow the events.

    Raises:
        LoadStartError: On entering, if a service does not become ready within a minute.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topology: Topology,
        producer: Mapping[str, Any] | None = None,
        rules: Mapping[Watched, float] | None = None,
        delivery: str = "at_least_once",
        instances: int = 1,
    ) -> None:
        self._common = ["--bootstrap-servers", bootstrap_servers, "--partitions", str(topology.partitions)]
        self._common += ["--partitioning", topology.partitioning, "--producer", json.dumps(dict(producer or {}))]
        self._common += ["--delivery", delivery, "--groups", f"{secrets.token_hex(4)}-"]
        copies = {name: instances if name in SCALED else 1 for name in (*SERVICES, CLIENT)}
        self._names = [
            f"{name}-{number}" if number > 1 else name for name in copies for number in range(1, copies[name] + 1)
        ]
        self._monitors = ["--brokers", str(topology.brokers), "--rules", json.dumps(dict(rules or {}))]
        self.events_port = free_ports(1)[0]
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(_LIBRARY),
            "LC_ALL": "C.UTF-8",
            TOKEN_VARIABLE: secrets.token_urlsafe(24),
        }
        self._processes: dict[str, ChildProcess] = {}
        self._ended_cpu_s = 0.0

    def _open(self, opened: ExitStack) -> None:
        opened.callback(lambda: end_all(self._processes.values(), _STOP_S))
        for name in self._names:
            self.start(name)
        for process in self._processes.values():
            process.next_line(READY, _READY_S)

    @property
    def is_whole(self) -> bool:
        """Return whether all of its processes run."""
        return len(self.pids) == len(self._names)

    @property
    def pids(self) -> dict[str, int]:
        """Map each running process to its id."""
        return {name: each.pid for name, each in self._processes.items() if each.exit_code is None}

    def start(self, name: str) -> None:
        """Start or restart a service, or another instance of it: `manufacturer-2`.

        Raises:
            LoadStartError: If it cannot be started.
        """
        program, _, instance = name.partition("-")
        options = {"monitor": self._monitors, "notification": ["--port", str(self.events_port)]}.get(program, [])
        own = ["--port", str(self.events_port)] if name == CLIENT else [*self._common, *options]
        own += ["--instance", instance] if instance else []
        argv = [sys.executable, "-m", f"kafka_pareto.drivers.services.programs.{program}", *own]
        if name in self._processes:
            self._processes[name].close()
        self._processes[name] = ChildProcess(f"service {name}", argv, self._environment)

    def script_orders_s(self) -> float:
        """Measure the hospital's own limit: its rate with no service reading, in orders per second.

        Raises:
            LoadToolError: If it fails.
        """
        options = [*self._common, "--place-only", str(_PLACED_ONLY)]
        argv = [sys.executable, "-m", "kafka_pareto.drivers.services.programs.hospital", *options]
        said = run_to_end("the hospital without services", argv, self._environment, _READY_S)
        return float(json.loads(said)["orders_s"])

    def kill(self, name: str) -> None:
        """Send SIGKILL to a service."""
        process = self._processes[name]
        self._ended_cpu_s += process.cpu_s()
        process.kill()

    def ask(self, asked: Asked) -> None:
        """Make the hospital place orders.

        Raises:
            LoadToolError: If it has exited.
        """
        self._processes["hospital"].tell(asdict(asked))

    def answer(self, asked: Asked) -> Record:
        """Return the hospital's report on the requested orders, once all are confirmed or the timeout expires.

        Raises:
            LoadToolError: If a service has exited meanwhile.
        """
        return self._next("hospital", asked.timeout_s + _GRACE_S, "run", asked.run)

    def after(self, asked: Asked) -> Record:
        """Return the numbers of confirmed orders and of duplicate confirmations so far.

        Raises:
            LoadToolError: If a service has exited meanwhile.
        """
        self._processes["hospital"].tell({"after": asked.run})
        return self._next("hospital", _GRACE_S, "after", asked.run)

    def seen(
        self,
        run: str,
        orders: int,
        timeout_s: float,
        *,
        began_at: float = 0.0,
        since: float = 0.0,
        alerts_within_s: float = 0.0,
    ) -> Record:
        """Return the client's report on a run, once it is complete or the timeout expires.

        Args:
            run: Prefix of its order ids.
            orders: The number placed.
            timeout_s: The longest wait for them.
            began_at: Alerts of rules broken earlier are excluded; seconds since 1970.
            since: Orders created earlier are excluded from latencies.
            alerts_within_s: The longest wait for raised alerts to clear.

        Raises:
            LoadToolError: If a service has exited meanwhile.
        """
        counted = {"began_at": began_at, "since": since, "alerts_within_s": alerts_within_s}
        self._processes[CLIENT].tell({"run": run, "orders": orders, "timeout_s": timeout_s, **counted})
        return self._next(CLIENT, timeout_s + alerts_within_s + _GRACE_S, "run", run)

    def cpu_s(self) -> float:
        """Return the CPU time all processes have used since they started."""
        return self._ended_cpu_s + sum(each.cpu_s() for each in self._processes.values())

    def _next(self, name: str, timeout_s: float, key: str, value: str) -> Record:
        """Return a service's next line with this key and value.

        Raises:
            LoadToolError: If no such line arrives in time, or any service has exited.
        """
        return self._processes[name].next_line(key, timeout_s, value, self._require_running)

    def _require_running(self) -> None:
        for process in self._processes.values():
            process.require_running()
