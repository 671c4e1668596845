"""Loads that several load machines send together, as processes of this one, to a real broker."""

from __future__ import annotations

import json
import os
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.load_machines import RunningMachine, running_machine
from kafka_pareto.campaign.records import Fingerprint, Sizing, TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.load_machines import LoadMachines, create_key
from kafka_pareto.errors import BadInputError, LoadMachineError, LoadToolError
from kafka_pareto.exit_codes import EXIT_BAD_INPUT
from kafka_pareto.kafka.cluster import Cluster
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import StepRunner
from tests.system.test_warm_jvm import servers_of

pytestmark = [pytest.mark.alone, pytest.mark.brokers, pytest.mark.studies, pytest.mark.usefixtures("real_java")]

READY_S = 30
ATTEMPTS = 9  # machines that share two cores with a broker start late now and then
BOTH = TimedLoad(warmup_s=0.5, seconds=1.0, paced_warmup_s=0.3, paced_seconds=1.0, paced_rate_records_s=400.0)
ENDLESS = TimedLoad(warmup_s=0.5, seconds=40, paced_warmup_s=0, paced_seconds=0, paced_rate_records_s=0)
UNTHROTTLED = TimedLoad(warmup_s=0.5, seconds=3.0, paced_warmup_s=0, paced_seconds=0, paced_rate_records_s=0)


@dataclass
class Bench:
    """Load machines, the generator that uses them, a topic on one broker, and a load for it."""

    brokers: RunningBrokers
    credentials: Path
    cluster: Cluster
    machines: list[RunningMachine]
    generator: LoadGenerator
    request: LoadRequest

    def run(self, **changes: object) -> LoadResult:
        """Sends a load, which must be counted as the topic counts it; again if busy cores delayed a start."""
        request = replace(self.request, **changes)
        before = self.cluster.end_offset(request.topic)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                result = self.generator.run(request)
                break
            except LoadMachineError as error:
                if attempt == ATTEMPTS or not any(word in str(error) for word in ("apart", "round trip")):
                    raise
                assert quiet(self)
                before = self.cluster.end_offset(request.topic)
        grown = self.cluster.wait_for_end_offset_growth(request.topic, before, result.records_sent, deadline_s=10)
        assert grown == result.records_sent
        return result


@pytest.fixture(scope="module")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("machines") / "load.pem"
    create_key(file)
    return file


@pytest.fixture(scope="module")
def two_machines(single_broker: RunningBrokers, credentials: Path) -> Iterator[list[RunningMachine]]:
    with running_machine(single_broker, credentials) as first, running_machine(single_broker, credentials) as second:
        yield [first, second]


def write_study(steps: StepRunner) -> None:
    """The study `together`: one configuration at 1,024 B, sent by two machines."""
    steps.write_study(
        "together",
        base="steady",
        record_sizes_bytes=[1024],
        workload={"replication_factor": 1, "min_insync_replicas": 1, "topic_partitions": 3, "producers": 2},
        factors={"buffer.memory": {"type": "integer", "levels": [33554432]}},
        advice=False,
        design={"configurations": 1},
        protocol={
            "jvm": "warm",
            "load_machines": 2,
            "noise_repetitions": 0,
            "seconds": 0.5,
            "warmup_seconds": 0.2,
            "paced": {"rate_fraction": 0.5, "warmup_seconds": 0.2, "seconds": 1.0},
            "throughput_limit_mib_s": 2.0,
            "max_attempts": ATTEMPTS,
        },
    )


def generator_on(brokers: RunningBrokers, machines: LoadMachines, cluster_id: str = "") -> LoadGenerator:
    return LoadGenerator(
        brokers.bootstrap_servers,
        None,
        brokers.settings,
        keeps_jvm=True,
        machines=machines,
        cluster_id=cluster_id or brokers.cluster_id,
    )


@contextmanager
def bench_with(brokers: RunningBrokers, credentials: Path, machines: list[RunningMachine]) -> Iterator[Bench]:
    topic = f"machines-{secrets.token_hex(4)}"
    named = LoadMachines(tuple(each.address for each in machines), credentials)
    producers = 2 * len(machines)
    request = LoadRequest(topic, 1024, {}, timeout_s=60, timed=BOTH, producers=producers, throughput_records_s=2_000.0)
    with (
        Cluster(brokers.bootstrap_servers, None, brokers.settings) as cluster,
        generator_on(brokers, named) as generator,
    ):
        cluster.create_topic(topic, 3, 1)
        yield Bench(brokers, credentials, cluster, machines, generator, request)


@pytest.fixture(scope="module")
def bench(single_broker: RunningBrokers, credentials: Path, two_machines: list[RunningMachine]) -> Iterator[Bench]:
    with bench_with(single_broker, credentials, two_machines) as opened:
        yield opened


def test_the_machines_send_the_load_together(bench: Bench) -> None:
    bench.run()  # starts our JVM
    result = bench.run()

    assert result.records_sent == result.records_attempted
    assert result.figures is not None
    assert result.figures.throughput_records_s == pytest.approx(2_000, rel=0.1)
    assert result.figures.paced_rate_records_s == pytest.approx(400, rel=0.1)
    assert [each.address for each in result.machines] == [each.address for each in bench.machines]
    assert [each.records for each in result.machines] == [pytest.approx(1_000, rel=0.1)] * 2
    assert all(each.cpu_s > 0 for each in result.machines)
    assert 0 < result.cpu_s_here < result.client_cpu_s
    assert result.client.records_per_request_avg is not None


def test_an_odd_record_goes_to_one_machine_only(bench: Bench) -> None:
    paced = TimedLoad(warmup_s=0, seconds=0, paced_warmup_s=0, paced_seconds=1.0, paced_rate_records_s=101.0)
    bench.run()  # warms the JVMs
    result = bench.run(timed=paced)

    assert result.records_sent == result.records_attempted
    assert sorted(each.records for each in result.machines) == [50, 51]


def test_a_failed_record_of_one_machine_ends_the_load_on_all(bench: Bench, tmp_path: Path) -> None:
    sample = tmp_path / "sample.jsonl"
    # Each of the four producers sends one of these again and again; the second belongs to the second machine.
    lines = [{"timestamp_ms": number, "key": None, "value": "x" * (2_000 if number == 1 else 8)} for number in range(4)]
    sample.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = bench.run(
        properties={"max.request.size": 1_000}, payload_file=sample, is_sampled=True, record_size_bytes=8
    )

    assert result.figures is None
    assert "RecordTooLarge" in result.errors
    assert len(result.machines) == 2
    assert result.wall_s < bench.request.timeout_s / 2
    assert bench.run().figures is not None


def test_a_users_own_records_are_sent_by_all_and_left_on_none(bench: Bench, tmp_path: Path) -> None:
    sample = tmp_path / "sample.jsonl"
    lines = [{"timestamp_ms": number, "key": f"k{number}", "value": f"secret-{number}"} for number in range(10)]
    sample.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    before = set(Path("/tmp").glob("load*.payload"))  # noqa: S108 (where the JVM puts them)
    result = bench.run(payload_file=sample, is_sampled=True, record_size_bytes=8)

    assert result.figures is not None
    assert all(each.records for each in result.machines)
    assert set(Path("/tmp").glob("load*.payload")) == before  # noqa: S108


def test_a_machine_that_dies_costs_one_load_and_is_used_again_when_it_is_back(
    single_broker: RunningBrokers, credentials: Path, two_machines: list[RunningMachine]
) -> None:
    with (
        running_machine(single_broker, credentials) as mortal,
        bench_with(single_broker, credentials, [two_machines[0], mortal]) as bench,
    ):
        bench.run()
        before = bench.cluster.end_offset(bench.request.topic)
        with ThreadPoolExecutor(1) as pool:
            load = pool.submit(bench.generator.run, replace(bench.request, timed=ENDLESS))
            wait_for_records(bench, before)
            mortal.kill()
            killed = time.monotonic()
            with pytest.raises(LoadMachineError, match=f"load machine {mortal.address}: the connection has ended"):
                load.result()
            assert time.monotonic() - killed < 10
        assert quiet(bench)
        with running_machine(single_broker, credentials, address=mortal.address):
            assert bench.run().figures is not None


def test_a_machine_that_was_restarted_between_two_loads_is_warmed_up_again(
    single_broker: RunningBrokers, credentials: Path, two_machines: list[RunningMachine]
) -> None:
    with (
        running_machine(single_broker, credentials) as mortal,
        bench_with(single_broker, credentials, [two_machines[0], mortal]) as bench,
    ):
        bench.run()
        mortal.kill()
        with running_machine(single_broker, credentials, address=mortal.address):
            with pytest.raises(LoadMachineError, match=f"load machine {mortal.address}: was restarted"):
                bench.generator.run(bench.request)
            assert bench.run().wall_s > 5  # a new JVM's warm-up


def wait_for_records(bench: Bench, before: int) -> None:
    deadline = time.monotonic() + READY_S
    while bench.cluster.end_offset(bench.request.topic) == before:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def quiet(bench: Bench) -> bool:
    """Returns whether the machines stop sending in time."""
    deadline = time.monotonic() + READY_S
    last = bench.cluster.end_offset(bench.request.topic)
    while time.monotonic() < deadline:
        time.sleep(1)
        now = bench.cluster.end_offset(bench.request.topic)
        if now == last:
            return True
        last = now
    return False


def test_machines_stop_sending_when_the_campaign_is_killed_and_serve_the_next(bench: Bench) -> None:
    before = bench.cluster.end_offset(bench.request.topic)
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(bench.generator.run, replace(bench.request, timed=ENDLESS))
        wait_for_records(bench, before)
        servers_of(os.getpid())[0].kill()
        with pytest.raises(LoadToolError):
            load.result()
    assert quiet(bench)
    assert bench.run().figures is not None


def address_of(machine: RunningMachine) -> tuple[str, int]:
    host, port = machine.address.split(":")
    return host, int(port)


def test_a_stranger_is_not_served(bench: Bench, tmp_path: Path) -> None:
    create_key(tmp_path / "other.pem")
    strange = LoadMachines(tuple(each.address for each in bench.machines), tmp_path / "other.pem")
    with (
        generator_on(bench.brokers, strange) as generator,
        pytest.raises(LoadMachineError, match=f"load machine {bench.machines[0].address}: has other credentials"),
    ):
        generator.run(bench.request)
    assert bench.run().figures is not None


@pytest.mark.parametrize("has_certificate", [False, True])
def test_a_machine_itself_refuses_a_stranger(bench: Bench, tmp_path: Path, has_certificate: bool) -> None:
    create_key(tmp_path / "other.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if has_certificate:
        context.load_cert_chain(tmp_path / "other.pem")
    # With TLS 1.3 the refusal comes with the first answer, after the handshake.
    with (
        socket.create_connection(address_of(bench.machines[0]), timeout=10) as opened,
        pytest.raises((ssl.SSLError, ConnectionResetError)),
        context.wrap_socket(opened) as stranger,
    ):
        stranger.recv(1)
    assert bench.run().figures is not None


def test_a_silent_peer_does_not_block_a_machine_for_long(bench: Bench) -> None:
    with socket.create_connection(address_of(bench.machines[0])):
        assert bench.run().figures is not None


def test_a_machine_of_another_cluster_is_refused(bench: Bench) -> None:
    named = LoadMachines(tuple(each.address for each in bench.machines), bench.credentials)
    with (
        generator_on(bench.brokers, named, "another") as generator,
        pytest.raises(BadInputError, match=f"sends to cluster {bench.brokers.cluster_id}, not another"),
    ):
        generator.run(bench.request)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("security.protocol", "SSL"),
        ("sasl.jaas.config", "anything"),
        ("ssl.keystore.location", "/etc/passwd"),
        ("interceptor.classes", "anything"),
        ("config.providers", "file"),
        ("client.id", "${file:/etc/passwd:root}"),
        ("unknown.name", "anything"),
    ],
)
def test_a_load_cannot_change_a_machines_login_or_have_it_load_or_read_anything(
    bench: Bench, name: str, value: str
) -> None:
    with pytest.raises(LoadToolError, match=f"{name}: a load may not set this on a load machine"):
        bench.generator.run(replace(bench.request, properties={name: value}))
    assert bench.run().figures is not None


def test_settings_that_need_a_larger_heap_than_the_machines_are_refused(bench: Bench) -> None:
    with pytest.raises(BadInputError, match=r"has a heap of 400 MiB, and these settings need 2240 MiB"):
        bench.generator.run(replace(bench.request, properties={"buffer.memory": 512 << 20}))
    assert bench.run().figures is not None


def test_a_clock_far_from_ours_does_not_matter(
    single_broker: RunningBrokers, credentials: Path, two_machines: list[RunningMachine]
) -> None:
    shifted = ("unshare", "--time", "--monotonic", "100000", "--fork", "--kill-child", "--")
    if subprocess.run([*shifted, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user or kernel cannot make time namespaces")
    with (
        running_machine(single_broker, credentials, prefix=shifted) as elsewhen,
        bench_with(single_broker, credentials, [two_machines[0], elsewhen]) as bench,
    ):
        result = bench.run()

        assert result.figures is not None
        assert result.figures.throughput_records_s == pytest.approx(2_000, rel=0.1)
        assert result.figures.latency_max_ms < 1_000


def test_a_study_is_sized_and_measured_by_its_load_machines(
    tmp_path: Path, single_broker: RunningBrokers, credentials: Path, two_machines: list[RunningMachine]
) -> None:
    steps = StepRunner(tmp_path, single_broker)
    steps.environment |= {
        "KAFKA_PARETO_LOAD_MACHINES": ",".join(each.address for each in two_machines),
        "KAFKA_PARETO_LOAD_CREDENTIALS": str(credentials),
    }
    write_study(steps)
    steps.manifest("design", "together")
    measured = steps.manifest("measure", "together", "--case", "1024", timeout_s=500)

    campaign = steps.campaign("together")
    assert measured["counts"]["repetitions_valid"] == measured["counts"]["repetitions"] > 0
    fingerprint = campaign.read_record(campaign.keys.fingerprint("1024"), Fingerprint)
    assert fingerprint.system["load_machines"] == [each.address for each in two_machines]
    assert campaign.read_record(campaign.keys.sizing("1024"), Sizing).ramp
    for repetition in campaign.read_repetitions(campaign.keys.measurements("1024")):
        assert repetition.number("records_sent") == repetition.number("end_offset_growth")
        assert repetition.client_cpu_s > 0
        assert repetition.number("host_cpu_busy_fraction") is None


def test_a_study_whose_load_machines_are_not_named_is_refused_before_it_measures(
    tmp_path: Path, single_broker: RunningBrokers
) -> None:
    steps = StepRunner(tmp_path, single_broker)
    steps.write_study(
        "together",
        base="steady",
        workload={"replication_factor": 1, "min_insync_replicas": 1, "producers": 2},
        protocol={"jvm": "warm", "load_machines": 2},
    )
    refused = steps.run("design", "together")

    assert refused.returncode == EXIT_BAD_INPUT
    assert "KAFKA_PARETO_LOAD_MACHINES: '' names 0 load machines" in refused.stderr
