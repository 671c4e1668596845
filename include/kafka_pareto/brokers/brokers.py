"""Run a cluster of one's own: brokers that are children of this process and end with it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from kafka_pareto.brokers.jmx import JMX_CONFIGURATION, JmxAgent, prepare_jmx
from kafka_pareto.brokers.jvm import HEAP_MIB, broker_argv, gc_log_option, java_environment
from kafka_pareto.brokers.nodes import LOOPBACK, Node
from kafka_pareto.brokers.own_folder import own_folder
from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.preparation import BrokerValue, cluster_id_in, prepare_nodes, write_properties
from kafka_pareto.brokers.processes import Launcher, Opened, last_lines
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.settings import Settings

_STOP_TIMEOUT_S = 30.0
_POLL_S = 0.1


class Brokers(Opened):
    """Open a context in which a cluster runs on loopback. It is ready on entering. Threads may share it.

    Each broker is known by its name: `kafka-1`, `kafka-2`, …. One that is stopped or killed keeps its data and ports.
    Its log is in its folder (`nodes[name].log_file`).

    Args:
        count: How many brokers; three and more replicate threefold by default.
        settings: Where Java and Kafka's jars are.
        properties: Broker properties that replace the template's (`include/kafka/broker.properties`) or add to them.
        heap_mib: Heap of each broker, in MiB.
        folder: Where the brokers keep all they write; a later cluster in it finds that again. None for a temporary
            folder in `TMPDIR`, removed at the end; its disk must have room for the data.
        client_config: A Java `client.properties`, where the given properties make the cluster ask for one.
        jmx_configuration: What the JMX agent of each broker (`jmx[name].read()`) reads; None for no agent.
        gc_log: True to log the garbage collections of each broker.
        start_timeout_s: How long the cluster may take to be ready.

    Raises:
        BadInputError: On entering, if a given property is one that follows from the nodes.
        ClusterError: On entering, if a broker does not start, with the last lines of its log.
    """

    def __init__(
        self,
        count: int,
        settings: Settings,
        *,
        properties: Mapping[str, BrokerValue] | None = None,
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
        self._properties = dict(properties or {})
        self._heap_mib = heap_mib
        self._folder = folder
        self._client_config = client_config
        self._jmx_configuration = jmx_configuration
        self._has_gc_log = gc_log
        self._start_timeout_s = start_timeout_s
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def _open(self, opened: ExitStack) -> None:
        folder = self._folder or opened.enter_context(own_folder())
        self._prepare(folder)
        opened.callback(self._processes.clear)
        # Leaving it kills all brokers. Kafka's data survives that; an orderly end without a quorum takes minutes.
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
        """Map each running broker to its process id, so that its CPU time can be counted."""
        return {name: process.pid for name, process in self._processes.copy().items() if process.poll() is None}

    def gc_logs(self, name: str) -> list[Path]:
        """List the broker's logs of garbage collections, one for each of its starts, the oldest first."""
        return sorted(self._node(name).folder.glob("gc-*.log"))

    def start(self, name: str) -> None:
        """Start a broker that does not run; `wait_until_ready` tells when it answers.

        Raises:
            ClusterError: If it runs already, or cannot be started.
        """
        node = self._node(name)
        if name in self.pids:
            raise ClusterError(f"broker {name} runs already")
        options = [self.jmx[name].option] if name in self.jmx else []
        if self._has_gc_log:
            options.append(gc_log_option(f"gc-{len(self.gc_logs(name)) + 1:04d}.log"))
        argv = broker_argv(node, self.settings.kafka_jars, self.settings.java, self._heap_mib, options)
        self._processes[name] = self._launcher.start(argv, node.folder, java_environment(), node.log_file)

    def stop(self, name: str) -> None:
        """Shuts the broker down in order; kills it if it takes longer than half a minute.

        Raises:
            ClusterError: If it does not run; so does `kill`.
        """
        process = self._take(name)
        try:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):  # without a quorum of controllers, it would wait for minutes
                process.wait(_STOP_TIMEOUT_S)
        finally:
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """End the broker as `kill -9` does."""
        process = self._take(name)
        process.kill()
        process.wait()

    def pause(self, name: str) -> None:
        """Stop the broker where it stands, as `kill -STOP` does: its connections stay, and nobody answers.

        Raises:
            ClusterError: If it does not run; so does `resume`.
        """
        self._signal(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a broker go on that was paused."""
        self._signal(name, signal.SIGCONT)

    def restart(self, name: str) -> None:
        """Stop the broker if it runs, start it, and wait until it answers.

        After a `kill`, that takes as long as the controllers still believe in it (broker.session.timeout.ms, 9 s).

        Raises:
            ClusterError: If it does not start, with the last lines of its log.
        """
        if name in self.pids:
            self.stop(name)
        self.start(name)
        self.wait_until_ready()

    def reconfigure(self, properties: Mapping[str, BrokerValue], heap_mib: int | None = None) -> None:
        """Give all brokers other properties and restart them one after the other; topics and records stay.

        Args:
            properties: Take the place of those given before.
            heap_mib: Heap of each broker from now on; None to leave it.

        Raises:
            BadInputError: If a given property is one that follows from the nodes. Nothing is changed then.
            ClusterError: If a broker does not start, with the last lines of its log.
        """
        write_properties(list(self.nodes.values()), properties)
        self._heap_mib = heap_mib or self._heap_mib
        for name in self.nodes:
            self.restart(name)

    def wait_until_ready(self) -> ClusterDescription:
        """Wait until each started broker answers and is registered; returns the description of the cluster.

        Raises:
            ClusterError: If a broker ended or is not ready in time, with the last lines of its log.
        """
        if not self._started():
            raise ClusterError("no broker runs; start one first")
        deadline = time.monotonic() + self._start_timeout_s
        while unready := [name for name in self._started() if not is_listening(self.nodes[name].port)]:
            self._wait_or_give_up(deadline, unready, "its port is closed")
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
                self._wait_or_give_up(deadline, unready, reason)

    def _prepare(self, folder: Path) -> None:
        count = self._count
        ports = free_ports(3 * count)
        pairs = list(zip(ports[:count], ports[count : 2 * count], strict=True))
        nodes = prepare_nodes(folder, self.settings.kafka_jars, self.settings.java, pairs, self._properties)
        self.nodes = {node.name: node for node in nodes}
        self.cluster_id = cluster_id_in(folder)
        if self._jmx_configuration:
            for node, port in zip(nodes, ports[2 * count :], strict=True):
                self.jmx[node.name] = prepare_jmx(node, port, self._jmx_configuration, self.settings)

    def _started(self) -> list[str]:
        """List the brokers that should run.

        Raises:
            ClusterError: If one of them has ended.
        """
        for name, process in self._processes.copy().items():
            if process.poll() is not None:
                raise ClusterError(f"broker {name} ended with exit code {process.returncode}{self._last_lines(name)}")
        return list(self._processes)

    def _wait_or_give_up(self, deadline: float, unready: list[str], reason: str) -> None:
        if time.monotonic() > deadline:
            text = f"broker {unready[0]} is not ready after {self._start_timeout_s:g} s: {reason}"
            raise ClusterError(text + self._last_lines(unready[0]))
        time.sleep(_POLL_S)

    def _last_lines(self, name: str) -> str:
        file = self.nodes[name].log_file
        return f"; the last lines of {file}:\n{last_lines(file)}"

    def _node(self, name: str) -> Node:
        if name not in self.nodes:
            raise ClusterError(f"there is no broker {name}; there are {', '.join(self.nodes)}")
        return self.nodes[name]

    def _signal(self, name: str, number: signal.Signals) -> None:
        if self._node(name).name not in self.pids:
            raise ClusterError(f"broker {name} does not run")
        self._processes[name].send_signal(number)

    def _take(self, name: str) -> subprocess.Popen[bytes]:
        """Return the process of a running broker and take it off the list of those that should run."""
        if self._node(name).name not in self.pids:
            raise ClusterError(f"broker {name} does not run")
        return self._processes.pop(name)
