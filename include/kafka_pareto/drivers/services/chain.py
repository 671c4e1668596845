"""Starts the services and their client as processes that end with this one, and talks to hospital and client."""

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
CLIENT = "client"
_LIBRARY = Path(__file__).parent.parent.parent.parent
_READY_S = 60.0
_GRACE_S = 15.0
_STOP_S = 10.0
_PLACED_ONLY = 20_000


class Chain(Opened):
    """Opens a context in which the five services and a client run on a cluster that has their topics.

    Args:
        bootstrap_servers: Of the cluster.
        topology: How records are spread over partitions, and how many brokers there are to be.
        producer: librdkafka's settings of every service's producer.
        delivery: `at_least_once`, or `exactly_once` for services that hand records on by transactions.
        rules: The monitor's bounds, by what it watches.

    Raises:
        LoadStartError: On entering, if one does not become ready within a minute.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topology: Topology,
        producer: Mapping[str, Any] | None = None,
        rules: Mapping[Watched, float] | None = None,
        delivery: str = "at_least_once",
    ) -> None:
        self._common = ["--bootstrap-servers", bootstrap_servers, "--partitions", str(topology.partitions)]
        self._common += ["--partitioning", topology.partitioning, "--producer", json.dumps(dict(producer or {}))]
        self._common += ["--delivery", delivery, "--groups", f"{secrets.token_hex(4)}-"]
        self._monitors = ["--brokers", str(topology.brokers), "--rules", json.dumps(dict(rules or {}))]
        self._port = free_ports(1)[0]
        self._token = secrets.token_urlsafe(24)
        self._processes: dict[str, ChildProcess] = {}
        self._ended_cpu_s = 0.0

    def _open(self, opened: ExitStack) -> None:
        opened.callback(self._end)
        for name in (*SERVICES, CLIENT):
            self.start(name)
        for name in (*SERVICES, CLIENT):
            self._next(name, _READY_S, READY)

    @property
    def size(self) -> int:
        """Returns how many processes there are while all run."""
        return len(SERVICES) + 1

    @property
    def events_port(self) -> int:
        """Returns the port of loopback at which clients follow the events."""
        return self._port

    @property
    def pids(self) -> dict[str, int]:
        """Maps each process that runs to its id."""
        return {name: each.pid for name, each in self._processes.items() if each.exit_code is None}

    def start(self, name: str) -> None:
        """Starts a service, or one anew that has ended.

        Raises:
            LoadStartError: If it cannot be started.
        """
        options = {"monitor": self._monitors, "notification": ["--port", str(self._port)]}.get(name, [])
        own = ["--port", str(self._port)] if name == CLIENT else [*self._common, *options]
        argv = [sys.executable, "-m", f"kafka_pareto.drivers.services.programs.{name}", *own]
        if name in self._processes:
            self._processes[name].close()
        self._processes[name] = ChildProcess(f"service {name}", argv, self._environment())

    def script_orders_s(self) -> float:
        """Returns at what pace the hospital places orders that no service reads, in orders a second.

        Raises:
            LoadToolError: If it does not end well.
        """
        options = [*self._common, "--place-only", str(_PLACED_ONLY)]
        argv = [sys.executable, "-m", "kafka_pareto.drivers.services.programs.hospital", *options]
        said = run_to_end("the hospital that places orders alone", argv, self._environment(), _READY_S)
        return float(json.loads(said)["orders_s"])

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(_LIBRARY),
            "LC_ALL": "C.UTF-8",
            TOKEN_VARIABLE: self._token,
        }

    def kill(self, name: str) -> None:
        """Kills a service with -9."""
        process = self._processes[name]
        self._ended_cpu_s += process.cpu_s()
        process.kill()

    def ask(self, asked: Asked) -> None:
        """Tells the hospital to place orders.

        Raises:
            LoadToolError: If it has ended.
        """
        self._processes["hospital"].tell(asdict(asked))

    def answer(self, asked: Asked) -> Record:
        """Returns what the hospital says of the orders that it was asked for, once all are confirmed or time is over.

        Raises:
            LoadToolError: If a service has ended meanwhile.
        """
        return self._next("hospital", asked.timeout_s + _GRACE_S, "run", asked.run)

    def after(self, asked: Asked) -> Record:
        """Returns how many of these orders are confirmed by now, and how many confirmations came again.

        Raises:
            LoadToolError: If a service has ended meanwhile.
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
        """Returns what the client has seen of a run, once all of it is complete, or time is over.

        Args:
            run: Begins the ids of its orders.
            orders: How many were placed.
            timeout_s: How long they are waited for.
            began_at: Alerts of rules that were broken before are not of this run; in seconds since 1970.
            since: Orders that were created before have no part in latencies.
            alerts_within_s: How long it is waited, then, until every alert that was raised is cleared.

        Raises:
            LoadToolError: If a service has ended meanwhile.
        """
        asked = {
            "run": run,
            "orders": orders,
            "timeout_s": timeout_s,
            "began_at": began_at,
            "since": since,
            "alerts_within_s": alerts_within_s,
        }
        self._processes[CLIENT].tell(asked)
        return self._next(CLIENT, timeout_s + alerts_within_s + _GRACE_S, "run", run)

    def cpu_s(self) -> float:
        """Returns the CPU time that all of them have used since they were started."""
        return self._ended_cpu_s + sum(each.cpu_s() for each in self._processes.values())

    def _next(self, name: str, timeout_s: float, key: str, value: str | None = None) -> Record:
        """Returns the next line of a service that has this key, and this value of it where one is given.

        Raises:
            LoadStartError: If it was to become ready, and did not.
            LoadToolError: If it says nothing in time, or any of them has ended.
        """
        meanwhile = self._require_running if key != READY else lambda: None
        return self._processes[name].next_line(key, timeout_s, value, meanwhile)

    def _require_running(self) -> None:
        for process in self._processes.values():
            process.require_running()

    def _end(self) -> None:
        end_all(self._processes.values(), _STOP_S)
