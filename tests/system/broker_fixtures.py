"""Real Kafka brokers for tests: processes on free loopback ports that die with the test session."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tenacity import retry, retry_if_exception_type, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto_embedded.programs.brokers import BrokerProgram, prepare_brokers
from tests.processes import end_process

_STOP_TIMEOUT_S = 30
_READY_DEADLINE_S = 120
_SEND_TIMEOUT_S = 120


class RunningBrokers:
    """A cluster of broker processes that a test may stop, kill and start by name (`kafka-1`, …)."""

    def __init__(self, programs: list[BrokerProgram], settings: Settings) -> None:
        self.programs = {program.name: program for program in programs}
        self.settings = settings
        self.bootstrap_servers = ",".join(f"127.0.0.1:{program.port}" for program in programs)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each running broker."""
        return {name: process.pid for name, process in self._processes.items()}

    def start(self, name: str) -> None:
        """Starts the broker; `wait_until_ready` says when it is there."""
        program = self.programs[name]
        with (program.directory / "server.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *program.argv],
                cwd=program.directory,
                env=program.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def stop(self, name: str) -> None:
        """Shuts the broker down in order, and kills it when it takes too long."""
        end_process(self._processes.pop(name), _STOP_TIMEOUT_S)

    def kill(self, name: str) -> None:
        """What `kill -9` does."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        """Leaves no process behind."""
        for name in list(self._processes):
            self.kill(name)

    def send(self, topic: str, records: int, case: str, acks: str = "all") -> None:
        """Sends records with Kafka's own load tool and waits until it has ended."""
        tool = ["-cp", f"{self.settings.kafka_jars}/*", "org.apache.kafka.tools.ProducerPerformance"]
        what = ["--topic", topic, "--num-records", str(records), "--record-size", str(case)]
        how = [f"bootstrap.servers={self.bootstrap_servers}", f"acks={acks}"]
        program = next(iter(self.programs.values()))
        subprocess.run(
            [self.settings.java, "-Xmx128m", *tool, *what, "--throughput", "-1", "--command-property", *how],
            env=program.environment,
            capture_output=True,
            timeout=_SEND_TIMEOUT_S,
            check=True,
        )

    def wait_until_ready(self, client_config: Path | None = None) -> ClusterDescription:
        """Waits until every started broker is registered."""
        wanted = len(self._processes)

        def is_incomplete(found: ClusterDescription) -> bool:
            return len(found.brokers) < wanted

        with Cluster(self.bootstrap_servers, client_config, self.settings) as cluster:
            return retry(
                retry=retry_if_result(is_incomplete) | retry_if_exception_type(ClusterError),
                stop=stop_after_delay(_READY_DEADLINE_S),
                wait=wait_fixed(0.2),
            )(cluster.describe)()


@contextmanager
def running_brokers(
    folder: Path,
    count: int,
    client_config: Path | None = None,
    prepare: Callable[[BrokerProgram], None] = lambda _: None,
) -> Iterator[RunningBrokers]:
    """A cluster of `count` brokers; `prepare` may change their properties before they start."""
    settings = load_settings()
    ports = free_ports(2 * count)
    programs = prepare_brokers(
        folder, settings.kafka_jars, settings.java, list(zip(ports[:count], ports[count:], strict=True))
    )
    brokers = RunningBrokers(programs, settings)
    try:
        for program in programs:
            prepare(program)
            brokers.start(program.name)
        brokers.wait_until_ready(client_config)
        yield brokers
    finally:
        brokers.kill_all()
        shutil.rmtree(folder)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nobody listens."""
    with ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@pytest.fixture(scope="session")
def single_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBrokers]:
    """One broker, replication factor 1."""
    with running_brokers(tmp_path_factory.mktemp("single-broker"), 1) as brokers:
        yield brokers


@pytest.fixture(scope="session")
def three_brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBrokers]:
    """Three brokers, replication factor 3, min.insync.replicas 2. Who stops one starts it again."""
    with running_brokers(tmp_path_factory.mktemp("three-brokers"), 3) as brokers:
        yield brokers
