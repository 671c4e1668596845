"""One JVM for many loads on a real broker: none poisons the next, and none outlives its step."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from tenacity import retry, retry_if_not_result, stop_after_delay, wait_fixed

from kafka_pareto.campaign.records import Sizing, TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadResult
from kafka_pareto.drivers.producer.load_generator import SERVER_CLASS, LoadGenerator
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import StepRunner

pytestmark = pytest.mark.brokers

ROOT = Path(__file__).parent.parent.parent
LOADS = 30
LIMIT_RECORDS_S = 2_000.0
SHORT = TimedLoad(warmup_s=0.05, seconds=0.1, paced_warmup_s=0.05, paced_seconds=0.1, paced_rate_records_s=200.0)
CASE = "1024"


@dataclass
class Bench:
    """A warm load generator and a topic on one broker."""

    generator: LoadGenerator
    cluster: Cluster
    request: LoadRequest

    def run(self, **changes: object) -> LoadResult:
        """Executes a load that must be counted as the topic counts it."""
        before = self.cluster.end_offset(self.request.topic)
        result = self.generator.run(replace(self.request, **changes))
        sent = result.records_sent
        assert sent == result.records_attempted > 0
        assert result.figures is not None
        assert self.cluster.wait_for_end_offset_growth(self.request.topic, before, sent, deadline_s=10) == sent
        return result


@pytest.fixture
def bench(single_broker: RunningBrokers) -> Iterator[Bench]:
    topic = f"warm-{secrets.token_hex(4)}"
    request = LoadRequest(topic, 1024, {}, timeout_s=120, timed=SHORT, throughput_records_s=LIMIT_RECORDS_S)
    with (
        Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster,
        LoadGenerator(single_broker.bootstrap_servers, None, single_broker.settings, keeps_jvm=True) as generator,
    ):
        cluster.create_topic(topic, 3, 1)
        yield Bench(generator, cluster, request)


def servers_of(pid: int) -> list[psutil.Process]:
    """The warm JVMs among a process's descendants."""
    children = psutil.Process(pid).children(recursive=True)
    return [each for each in children if each.is_running() and SERVER_CLASS in " ".join(each.cmdline())]


def wait_for_server_of(pid: int) -> psutil.Process:
    found = retry(retry=retry_if_not_result(bool), stop=stop_after_delay(60), wait=wait_fixed(0.02))(servers_of)(pid)
    return found[0]


@pytest.mark.long
def test_many_loads_of_one_jvm_are_counted_right_and_each_says_its_own_cpu_time(bench: Bench) -> None:
    codecs = ["none", "lz4", "zstd", "gzip", "snappy"]
    results = [bench.run(properties={"compression.type": codecs[load % 5]}) for load in range(LOADS)]

    (server,) = servers_of(os.getpid())
    times = server.cpu_times()
    assert sum(result.client_cpu_s for result in results) == pytest.approx(times.user + times.system, abs=0.5)
    assert all(result.client_cpu_s > 0 for result in results)
    threads = [(each / "comm").read_text() for each in Path(f"/proc/{server.pid}/task").iterdir()]
    assert not [name for name in threads if name.startswith("kafka-producer")]  # of producers that were left behind


def test_a_failed_load_is_reported_and_the_next_one_of_the_same_jvm_is_complete(bench: Bench) -> None:
    bench.run()
    (server,) = servers_of(os.getpid())
    too_large = bench.generator.run(replace(bench.request, properties={"max.request.size": 100}))
    assert too_large.figures is None
    assert "RecordTooLargeException" in too_large.errors
    with pytest.raises(LoadToolError, match="ConfigException: Invalid value perhaps for configuration acks"):
        bench.generator.run(replace(bench.request, properties={"acks": "perhaps"}))

    bench.run()
    assert servers_of(os.getpid()) == [server]


def test_a_load_that_exceeds_its_timeout_leaves_its_thread_dump(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.run()
    with pytest.raises(LoadToolError, match="did not finish within 1 s"):
        bench.run(timed=SHORT.model_copy(update={"seconds": 60.0}), timeout_s=1)

    assert "io.kafkapareto.Sender.send" in caplog.text
    assert not servers_of(os.getpid())


@pytest.mark.long
def test_a_jvm_that_is_killed_costs_the_load_that_it_had_and_no_other(bench: Bench) -> None:
    bench.run()
    first = wait_for_server_of(os.getpid())
    first.kill()
    psutil.wait_procs([first], timeout=10)
    bench.run()  # killed between two loads, it costs none

    second = wait_for_server_of(os.getpid())
    before = bench.cluster.end_offset(bench.request.topic)
    long = replace(bench.request, timed=SHORT.model_copy(update={"seconds": 60.0}))
    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(_kill_once_it_sends, second, bench.cluster, bench.request.topic, before)
        with pytest.raises(LoadToolError, match="exit code -9"):
            bench.generator.run(long)
        killing.result()
    assert bench.cluster.end_offset(bench.request.topic) > before
    bench.run()
    (third,) = servers_of(os.getpid())
    assert third not in (first, second)


def _kill_once_it_sends(server: psutil.Process, cluster: Cluster, topic: str, before: int) -> None:
    sends = retry(retry=retry_if_not_result(bool), stop=stop_after_delay(60), wait=wait_fixed(0.02))
    sends(lambda: cluster.end_offset(topic) > before)()
    server.kill()


PROGRAM = """
import sys
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.settings import load_settings

timed = TimedLoad.model_validate_json(sys.argv[3])
generator = LoadGenerator(sys.argv[1], None, load_settings(), keeps_jvm=True)
generator.run(LoadRequest(sys.argv[2], 1024, {}, timeout_s=120, timed=timed, throughput_records_s=2000.0))
print("served", flush=True)
sys.stdin.read()
"""


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.1, 60.0], ids=["idle", "sending"])
def test_no_jvm_outlives_a_step_that_is_killed(bench: Bench, single_broker: RunningBrokers, seconds: float) -> None:
    timed = SHORT.model_copy(update={"seconds": seconds})
    argv = [sys.executable, "-c", PROGRAM, single_broker.bootstrap_servers, bench.request.topic]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
    step = subprocess.Popen(
        [*argv, timed.model_dump_json()], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        server = wait_for_server_of(step.pid)
        if seconds < 1:
            assert step.stdout is not None
            assert step.stdout.readline() == b"served\n"
        assert server.is_running()
    finally:
        os.kill(step.pid, signal.SIGKILL)
        step.communicate()

    _, alive = psutil.wait_procs([server], timeout=10)
    assert not alive


@pytest.mark.long
def test_a_study_with_a_warm_jvm_measures_and_leaves_none(tmp_path: Path, single_broker: RunningBrokers) -> None:
    steps = StepRunner(tmp_path, single_broker)
    short = {"warmup_seconds": 0.1, "seconds": 0.3, "noise_repetitions": 0}
    steps.write_study(
        "warm",
        base="steady",
        record_sizes_bytes=[int(CASE)],
        workload={"replication_factor": 1, "min_insync_replicas": 1, "topic_partitions": 3},
        design={"configurations": 4},
        protocol=short | {"jvm": "warm", "paced": {"rate_fraction": 0.5, "warmup_seconds": 0.1, "seconds": 1.5}},
    )
    steps.manifest("design", "warm")
    measured = steps.manifest("measure", "warm", "--case", CASE)

    campaign = steps.campaign("warm")
    repetitions = campaign.read_repetitions(campaign.keys.measurements(CASE))
    assert measured["counts"]["repetitions_valid"] == len(repetitions) == 5
    sizing = campaign.read_record(campaign.keys.sizing(CASE), Sizing)
    assert sizing.timed
    assert sizing.timed.warmup_s == 0.1
    assert all(each.number("records_sent") == each.number("end_offset_growth") for each in repetitions)
    assert all(0 < each.client_cpu_s < each.wall_s * os.cpu_count() for each in repetitions)
