"""Run a local cluster whose brokers are children of this process and end with it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from kafka_pareto.brokers.jmx import JMX_CONFIGURATION, JmxAgent, prepare_jmx
from kafka_pareto.brokers.jvm import HEAP_MIB, broker_argv, gc_log_option
from kafka_pareto.brokers.nodes import LOOPBACK, Node
from kafka_pareto.brokers.own_folder import own_folder
from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.preparation import cluster_id_in, prepare_nodes, write_properties
from kafka_pareto.brokers.processes import Launcher, Opened, last_lines
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import Settings

_STOP_TIMEOUT_S = 30.0
_POLL_S = 0.1


class Brokers(Opened):
    """A cluster on loopback, ready on entering the context and safe to share between threads.

    Brokers are named `kafka-1`, `kafka-2`, … A stopped or killed broker keeps its data and ports.

    Args:
        count: Number of brokers; with three or more, the default replication factor is 3.
        settings: Locates Java and Kafka's jars.
        properties: Broker properties that override or extend `include/kafka/broker.properties`.
        heap_mib: Heap of each broker, in MiB.
        folder: The brokers' data, reused by a later cluster; None for a temporary folder in `TMPDIR`.
        client_config: A Java `client.properties`, if the given properties make the cluster require one.
        jmx_configuration: Configures each broker's JMX agent (`jmx[name].read()`); None for no agent.
        gc_log: True to log each broker's garbage collections.
        start_timeout_s: Time limit for the cluster to be ready.

    Raises:
        BadInputError: If `count` is below 1, or, on entering, if a given property is derived from the nodes.
        ClusterError: On entering, if a broker does not start; includes the tail of its log.
    """

    def __init__(
        self,
        count: int,
        settings: Settings,
        *,
        properties: Mapping[str, PropertyValue] | None = None,
        heap_mib: int = HEAP_MIB,
        folder: Path | None = None,
        client_config: Path | None = None,
        jmx_configuration: Path | None = JMX_CONFIGURATION,
        gc_log: bool = True,
        start_timeout_s: float = 120.0,
    ) -> None:
        if count < 1:
            raise BadInputError(f"brokers: {count}: must be at least 1")
        self.settings = settings
        self.nodes: dict[str, Node] = {}
        self.jmx: dict[str, JmxAgent] = {}
        self.cluster_id = ""
        self._count = count
        self._properties = properties
        self._heap_mib = heap_mib
        self._folder = folder
        self._client_config = client_config
        self._jmx_configuration = jmx_configuration
        self._has_gc_log = gc_log
        self._start_timeout_s = start_timeout_s
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def _open(self, opened: ExitStack) -> None:
        folder = self._folder or opened.enter_context(own_folder())
        ports = free_ports(3 * self._count)
        pairs = list(zip(ports[::3], ports[1::3], strict=True))
        nodes = prepare_nodes(folder, self.settings.kafka_jars, self.settings.java, pairs, self._properties)
        self.nodes = {node.name: node for node in nodes}
        self.cluster_id = cluster_id_in(folder)
        if self._jmx_configuration:
            for node, port in zip(nodes, ports[2::3], strict=True):
                self.jmx[node.name] = prepare_jmx(node, port, self._jmx_configuration, self.settings)
        opened.callback(self._processes.clear)
        # Leaving it kills all brokers. Kafka's data survives that; a clean shutdown without a quorum takes minutes.
        self._launcher = opened.enter_context(Launcher())
        for name in self.nodes:
            self.start(name)
        self.wait_until_ready()

    @property
    def bootstrap_servers(self) -> str:
        """Return `host:port,…` of all brokers, running or not."""
        return ",".join(f"{LOOPBACK}:{node.port}" for node in self.nodes.values())

    @property
    def pids(self) -> dict[str, int]:
        """Map each running broker to its process ID."""
        return {name: process.pid for name, process in self._processes.copy().items() if process.poll() is None}

    def gc_logs(self, name: str) -> list[Path]:
        """List the broker's garbage collection logs, one per start, oldest first."""
        return sorted(self._node(name).folder.glob("gc-*.log"))

    def start(self, name: str) -> None:
        """Start a stopped broker without waiting until it responds.

        Raises:
            ClusterError: If it is already running or cannot be started.
        """
        node = self._node(name)
        if name in self.pids:
            raise ClusterError(f"broker {name} is already running")
        options = [self.jmx[name].option] if name in self.jmx else []
        if self._has_gc_log:
            options.append(gc_log_option(f"gc-{len(self.gc_logs(name)) + 1:04d}.log"))
        argv = broker_argv(node, self.settings.kafka_jars, self.settings.java, self._heap_mib, options)
        self._processes[name] = self._launcher.start(argv, node.folder, java_environment(), node.log_file)

    def stop(self, name: str) -> None:
        """Shut the broker down cleanly; kill it after 30 s.

        Raises:
            ClusterError: If it is not running; likewise for `kill`, `pause` and `resume`.
        """
        process = self._running(name)
        del self._processes[name]
        try:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):  # without a controller quorum, a clean shutdown takes minutes
                process.wait(_STOP_TIMEOUT_S)
        finally:
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """Kill the broker with SIGKILL."""
        process = self._running(name)
        del self._processes[name]
        process.kill()
        process.wait()

    def pause(self, name: str) -> None:
        """Suspend the broker with SIGSTOP: its connections stay open but unanswered."""
        self._running(name).send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Resume a paused broker."""
        self._running(name).send_signal(signal.SIGCONT)

    def restart(self, name: str) -> None:
        """Stop the broker if it is running, start it, and wait until the cluster is ready.

        After a `kill` this takes until the broker's session expires (broker.session.timeout.ms, 9 s).
        """
        if name in self.pids:
            self.stop(name)
        self.start(name)
        self.wait_until_ready()

    def reconfigure(self, properties: Mapping[str, PropertyValue], heap_mib: int | None = None) -> None:
        """Replace the given properties of all brokers in a rolling restart; topics and records stay.

        A heap of None is unchanged. A property derived from the nodes is rejected before any change.
        """
        write_properties(list(self.nodes.values()), properties)
        self._heap_mib = heap_mib or self._heap_mib
        for name in self.nodes:
            self.restart(name)

    def wait_until_ready(self) -> ClusterDescription:
        """Wait until each started broker responds and is registered; return the cluster's description.

        Raises:
            ClusterError: If a broker ended or is not ready in time; includes the tail of its log.
        """
        if not self._started():
            raise ClusterError("no broker is running; start one first")
        deadline = time.monotonic() + self._start_timeout_s
        while unready := [name for name in self._started() if not is_listening(self.nodes[name].port)]:
            self._wait_or_fail(deadline, unready, "its port is closed")
        with Cluster(self.bootstrap_servers, self._client_config, self.settings) as cluster:
            while True:
                unready, reason = self._started(), "it is not registered with the cluster"
                try:
                    described = cluster.describe()
                except ClusterError as error:
                    reason = str(error)
                else:
                    registered = {broker.id for broker in described.brokers}
                    unready = [name for name in unready if self.nodes[name].number not in registered]
                    if not unready:
                        return described
                self._wait_or_fail(deadline, unready, reason)

    def _started(self) -> list[str]:
        """List the brokers that should be running; raise a ClusterError if one has ended."""
        for name, process in self._processes.copy().items():
            if process.poll() is not None:
                raise ClusterError(f"broker {name} ended with exit code {process.returncode}{self._last_lines(name)}")
        return list(self._processes)

    def _wait_or_fail(self, deadline: float, unready: list[str], reason: str) -> None:
        if time.monotonic() > deadline:
            text = f"broker {unready[0]} is not ready after {self._start_timeout_s:g} s: {reason}"
            raise ClusterError(text + self._last_lines(unready[0]))
        time.sleep(_POLL_S)

    def _last_lines(self, name: str) -> str:
        file = self.nodes[name].log_file
        return f"; the last lines of {file}:\n{last_lines(file)}"

    def _node(self, name: str) -> Node:
        if name not in self.nodes:
            raise ClusterError(f"broker {name} does not exist; the brokers are {', '.join(self.nodes)}")
        return self.nodes[name]

    def _running(self, name: str) -> subprocess.Popen[bytes]:
        if self._node(name).name not in self.pids:
            raise ClusterError(f"broker {name} is not running")
        return self._processes[name]
