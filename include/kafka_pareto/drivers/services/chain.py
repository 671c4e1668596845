"""Starts the services and their client as processes that end with this one, and talks to hospital and client."""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import psutil

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.brokers.processes import tied
from kafka_pareto.errors import LoadStartError, LoadToolError
from kafka_pareto.services.alerts import Watched
from kafka_pareto.services.hospital import Asked
from kafka_pareto.services.messages import Record
from kafka_pareto.services.notification import TOKEN_VARIABLE
from kafka_pareto.study.topology import Topology

SERVICES = ("manufacturer", "transport", "monitor", "notification", "hospital")
CLIENT = "client"
_LIBRARY = Path(__file__).parent.parent.parent.parent
_READY_S = 60.0
_GRACE_S = 15.0
_STOP_S = 10.0
_LOOK_S = 0.1
_LAST_BYTES = 400
_PLACED_ONLY = 20_000


@dataclass
class _Process:
    """Holds a running service, the lines it has said, and what it complained of."""

    popen: subprocess.Popen[bytes]
    complaints: BinaryIO
    said: queue.SimpleQueue[Record] = field(default_factory=queue.SimpleQueue)

    def last_words(self) -> str:
        """Returns the end of what it wrote to its standard error."""
        size = os.fstat(self.complaints.fileno()).st_size
        end = os.pread(self.complaints.fileno(), _LAST_BYTES, max(size - _LAST_BYTES, 0))
        return " ".join(end.decode(errors="replace").split()) or "it said nothing"


class Chain:
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
        self._common += ["--delivery", delivery]
        self._monitors = ["--brokers", str(topology.brokers), "--rules", json.dumps(dict(rules or {}))]
        self._port = free_ports(1)[0]
        self._token = secrets.token_urlsafe(24)
        self._processes: dict[str, _Process] = {}
        self._ended_cpu_s = 0.0

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.callback(self._end)
            for name in (*SERVICES, CLIENT):
                self.start(name)
            for name in (*SERVICES, CLIENT):
                self._next(name, _READY_S, "ready")
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

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
        return {name: each.popen.pid for name, each in self._processes.items() if each.popen.poll() is None}

    def start(self, name: str) -> None:
        """Starts a service, or one anew that has ended.

        Raises:
            LoadStartError: If it cannot be started.
        """
        options = {"monitor": self._monitors, "notification": ["--port", str(self._port)]}.get(name, [])
        own = ["--port", str(self._port)] if name == CLIENT else [*self._common, *options]
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process has ended)
        try:
            popen = subprocess.Popen(
                tied([sys.executable, "-m", f"kafka_pareto.services.{name}", *own]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=self._environment(),
            )
        except OSError as error:
            complaints.close()
            raise LoadStartError(f"service {name}: cannot be started: {error}") from error
        process = self._processes[name] = _Process(popen, complaints)
        threading.Thread(target=_listen, args=(process,), daemon=True).start()

    def script_orders_s(self) -> float:
        """Returns at what pace the hospital places orders that no service reads, in orders a second.

        Raises:
            LoadToolError: If it does not end well.
        """
        options = [*self._common, "--place-only", str(_PLACED_ONLY)]
        argv = tied([sys.executable, "-m", "kafka_pareto.services.hospital", *options])
        try:
            ended = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=self._environment(),
                timeout=_READY_S,
                check=True,
            )
            return float(json.loads(ended.stdout)["orders_s"])
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            raise LoadToolError(f"the hospital cannot place orders alone: {error}") from error

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
        self._ended_cpu_s += _cpu_s(process.popen.pid)
        process.popen.kill()
        process.popen.wait()

    def wait_until_ready(self, name: str) -> None:
        """Waits until a service that was started anew has its partitions.

        Raises:
            LoadStartError: If it does not become ready within a minute.
        """
        self._next(name, _READY_S, "ready")

    def ask(self, asked: Asked) -> None:
        """Tells the hospital to place orders.

        Raises:
            LoadToolError: If it has ended.
        """
        self._tell("hospital", asdict(asked))

    def answer(self, asked: Asked) -> Record:
        """Returns what the hospital says of the orders that it was asked for, once all are confirmed or time is over.

        Raises:
            LoadToolError: If a service has ended meanwhile.
        """
        return self._next("hospital", asked.timeout_s + _GRACE_S, "run", asked.run)

    def seen(
        self, run: str, orders: int, timeout_s: float, *, since: float = 0.0, alerts_within_s: float = 0.0
    ) -> Record:
        """Returns what the client has seen of a run, once all of it is complete, or time is over.

        Args:
            run: Begins the ids of its orders.
            orders: How many were placed.
            timeout_s: How long they are waited for.
            since: Orders that were created before have no part in latencies; in seconds since 1970.
            alerts_within_s: How long it is waited, then, until every alert that was raised is cleared.

        Raises:
            LoadToolError: If a service has ended meanwhile.
        """
        asked = {
            "run": run,
            "orders": orders,
            "timeout_s": timeout_s,
            "since": since,
            "alerts_within_s": alerts_within_s,
        }
        self._tell(CLIENT, asked)
        return self._next(CLIENT, timeout_s + alerts_within_s + _GRACE_S, "run", run)

    def cpu_s(self) -> float:
        """Returns the CPU time that all of them have used since they were started."""
        return self._ended_cpu_s + sum(_cpu_s(pid) for pid in self.pids.values())

    def _tell(self, name: str, request: Record) -> None:
        stdin = self._processes[name].popen.stdin
        if stdin is None:
            raise RuntimeError(f"{name} has no standard input")
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        except OSError as error:
            raise LoadToolError(f"service {name} has ended: {self._processes[name].last_words()}") from error

    def _next(self, name: str, timeout_s: float, key: str, value: str = "") -> Record:
        """Returns the next line of a service that has this key, and this value of it where one is given.

        Raises:
            LoadStartError: If it was to become ready, and did not.
            LoadToolError: If it says nothing in time, or any of them has ended.
        """
        deadline = time.monotonic() + timeout_s
        kind = LoadStartError if key == "ready" else LoadToolError
        while True:
            with suppress(queue.Empty):
                said = self._processes[name].said.get(timeout=_LOOK_S)
                if key in said and (not value or said[key] == value):
                    return said
                continue
            for other, process in self._processes.items():
                if (code := process.popen.poll()) is not None and (other == name or key != "ready"):
                    raise kind(f"service {other} has ended with exit code {code}: {process.last_words()}")
            if time.monotonic() > deadline:
                raise kind(
                    f"service {name} did not answer within {timeout_s:g} s: {self._processes[name].last_words()}"
                )

    def _end(self) -> None:
        """Asks all to stop, and kills what does not."""
        for process in self._processes.values():
            with suppress(OSError):
                process.popen.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.popen.wait(max(deadline - time.monotonic(), 0.0))
            process.popen.kill()
            process.popen.wait()
            for stream in (process.popen.stdin, process.popen.stdout, process.complaints):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()


def _listen(process: _Process) -> None:
    """Takes the lines of JSON that a process says; what is none is a complaint of somebody's, and passed over."""
    stdout = process.popen.stdout
    if stdout is None:
        raise RuntimeError("the process has no standard output")
    with suppress(ValueError):  # it was closed meanwhile
        for line in stdout:
            with suppress(json.JSONDecodeError):
                process.said.put(json.loads(line))


def _cpu_s(pid: int) -> float:
    try:
        used = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(used.user + used.system)
