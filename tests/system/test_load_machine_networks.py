"""Load machines with networks of their own, on links that are slow or break; as root, in network namespaces."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.load_machines import RunningMachine, running_machine
from kafka_pareto.drivers.producer.client_bottleneck import generator_bound
from kafka_pareto.drivers.producer.load_machines import create_key
from kafka_pareto.errors import LoadMachineError
from kafka_pareto.settings import load_settings
from tests.system.broker_fixtures import RunningBrokers
from tests.system.test_load_machines import ENDLESS, UNTHROTTLED, bench_with, quiet, wait_for_records

NETWORK = f"10.211.{os.getpid() % 250}"
HERE = f"{NETWORK}.1"
MACHINES = 2
BRIDGE = f"kp{os.getpid() % 100_000}"


def run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=30)


def why_not() -> str:
    """Why this machine cannot do it; empty if it can."""
    limited = "ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root tbf rate 1mbit burst 2kb latency 1ms"
    try:
        tried = subprocess.run(
            ["unshare", "--net", "sh", "-c", f"ip link add b0 type bridge && {limited}"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except OSError as error:
        return str(error)
    return (tried.stderr.strip() or f"ended with {tried.returncode}") if tried.returncode else ""


_WHY_NOT = why_not()
pytestmark = [pytest.mark.brokers, pytest.mark.studies, pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)]


@dataclass
class Machines:
    """Load machines, each in its own network namespace, beside brokers that all reach."""

    brokers: RunningBrokers
    credentials: Path
    machines: list[RunningMachine]

    def limit(self, number: int, rate: str) -> None:
        """Limits what a machine can send."""
        link = ("dev", f"{BRIDGE}m", "root")
        run(*inside(number), "tc", "qdisc", "add", *link, "tbf", "rate", rate, "burst", "16kb", "latency", "50ms")

    def unlimited(self, number: int) -> None:
        run(*inside(number), "tc", "qdisc", "del", "dev", f"{BRIDGE}m", "root")

    def set_link(self, number: int, state: str) -> None:
        run("ip", "link", "set", f"{BRIDGE}v{number}", state)


def inside(number: int) -> tuple[str, ...]:
    return ("ip", "netns", "exec", f"{BRIDGE}n{number}")


@contextmanager
def networks() -> Iterator[None]:
    """Gives each machine an address on a bridge."""
    with ExitStack() as made:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        made.callback(run, "ip", "link", "del", BRIDGE)
        run("ip", "address", "add", f"{HERE}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for number in range(MACHINES):
            run("ip", "netns", "add", f"{BRIDGE}n{number}")
            made.callback(run, "ip", "netns", "del", f"{BRIDGE}n{number}")
            pair = (f"{BRIDGE}v{number}", "type", "veth", "peer", f"{BRIDGE}m", "netns", f"{BRIDGE}n{number}")
            run("ip", "link", "add", *pair)
            run("ip", "link", "set", f"{BRIDGE}v{number}", "master", BRIDGE, "up")
            run(*inside(number), "ip", "address", "add", f"{NETWORK}.{number + 2}/24", "dev", f"{BRIDGE}m")
            run(*inside(number), "ip", "link", "set", f"{BRIDGE}m", "up")
            # What a closed socket still holds must not arrive long after its link is back.
            run(*inside(number), "sysctl", "-qw", "net.ipv4.tcp_orphan_retries=1")
        yield


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    credentials = tmp_path_factory.mktemp("networks") / "load.pem"
    create_key(credentials)
    with ExitStack() as opened:
        opened.enter_context(networks())
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        for module in ("brokers", "preparation", "ports"):  # else the brokers' address is no other machine's to reach
            patch.setattr(f"kafka_pareto.brokers.{module}.LOOPBACK", HERE)
        brokers = opened.enter_context(RunningBrokers(1, load_settings(), jmx_configuration=None))
        running = [
            opened.enter_context(
                running_machine(brokers, credentials, address=f"{NETWORK}.{number + 2}:7443", prefix=inside(number))
            )
            for number in range(MACHINES)
        ]
        yield Machines(brokers, credentials, running)


def test_machines_on_their_own_networks_send_a_load_together(machines: Machines) -> None:
    with bench_with(machines.brokers, machines.credentials, machines.machines) as bench:
        result = bench.run()

    assert result.figures is not None
    assert [each.records for each in result.machines] == [pytest.approx(1_000, rel=0.1)] * 2


def test_a_machine_on_a_slow_link_is_named_as_the_bottleneck(machines: Machines) -> None:
    with bench_with(machines.brokers, machines.credentials, machines.machines) as bench:
        bench.run()
        machines.limit(1, "8mbit")
        try:
            result = bench.run(timed=UNTHROTTLED, properties={"buffer.memory": 1 << 20}, throughput_records_s=None)
        finally:
            machines.unlimited(1)

    first, second = result.machines
    assert second.records < first.records / 2
    assert f"load machine {second.address} was the bottleneck" in generator_bound(bench.request, result, cores=2.0)


def test_a_broken_link_costs_one_load_and_leaves_no_record_to_the_next(machines: Machines) -> None:
    with bench_with(machines.brokers, machines.credentials, machines.machines) as bench:
        bench.run()
        before = bench.cluster.end_offset(bench.request.topic)
        with ThreadPoolExecutor(1) as pool:
            endless = replace(bench.request, timed=ENDLESS)
            load = pool.submit(bench.generator.run, endless)
            wait_for_records(bench, before)
            machines.set_link(1, "down")
            try:
                with pytest.raises(LoadMachineError, match=f"load machine {machines.machines[1].address}: silent"):
                    load.result()
                time.sleep(10)  # the machine has noticed by now, too
            finally:
                machines.set_link(1, "up")
        assert quiet(bench)
        assert bench.run().figures is not None  # counted as the topic counts it
