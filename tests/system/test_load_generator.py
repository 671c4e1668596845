"""The load generator on a real broker: it agrees with Kafka's own tool, and shows the waiting that the tool hides."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadFigures, LoadRequest
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.kafka.cluster import Cluster
from tests.system.broker_fixtures import RunningBrokers

pytestmark = [pytest.mark.brokers, pytest.mark.long, pytest.mark.usefixtures("real_java")]

RATE_RECORDS_S = 500
WARMUP_S = 1
PACED_S = 4
PAUSE_S = 1.0
WARMUP_RECORDS = WARMUP_S * RATE_RECORDS_S


class Bench:
    """Both load generators and a topic on one broker, at the same fixed rate."""

    def __init__(self, brokers: RunningBrokers, cluster: Cluster, topic: str) -> None:
        self.cluster, self.topic = cluster, topic
        self.broker_pid = next(iter(brokers.pids.values()))
        self._generator = LoadGenerator(brokers.bootstrap_servers, None, brokers.settings)
        self._kafkas_own = ProducerPerformance(brokers.bootstrap_servers, None, brokers.settings)

    def generator(self, properties: Mapping[str, int], seconds: int = PACED_S) -> LoadFigures:
        timed = TimedLoad(
            warmup_s=0,
            seconds=0,
            paced_warmup_s=WARMUP_S,
            paced_seconds=seconds,
            paced_rate_records_s=RATE_RECORDS_S,
        )
        result = self._generator.run(LoadRequest(self.topic, 1024, properties, timeout_s=120, timed=timed))
        assert result.figures is not None, result.errors
        return result.figures

    def kafkas_own(self, properties: Mapping[str, int], seconds: int = PACED_S) -> LoadFigures:
        result = self._kafkas_own.run(
            LoadRequest(
                self.topic,
                1024,
                properties,
                timeout_s=120,
                records=WARMUP_RECORDS + seconds * RATE_RECORDS_S,
                warmup_records=WARMUP_RECORDS,
                throughput_records_s=RATE_RECORDS_S,
            )
        )
        assert result.figures is not None, result.errors
        return result.figures

    def with_broker_paused(self, load: Callable[[], LoadFigures]) -> LoadFigures:
        """Stop the broker's process for a second, about a second after the warm-up."""
        before = self.cluster.end_offset(self.topic)

        def is_under_way() -> bool:
            return self.cluster.end_offset(self.topic) >= before + WARMUP_RECORDS + RATE_RECORDS_S

        with ThreadPoolExecutor(1) as pool:
            loading = pool.submit(load)
            wait_for(is_under_way)
            os.kill(self.broker_pid, signal.SIGSTOP)
            try:
                time.sleep(PAUSE_S)  # the pause is what is tested
            finally:
                os.kill(self.broker_pid, signal.SIGCONT)
            return loading.result()


def wait_for(condition: Callable[[], bool]) -> None:
    retry(retry=retry_if_result(lambda met: not met), stop=stop_after_delay(60), wait=wait_fixed(0.02))(condition)()


@pytest.fixture
def bench(single_broker: RunningBrokers) -> Iterator[Bench]:
    topic = f"generator-{secrets.token_hex(4)}"
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic(topic, 3, 1)
        yield Bench(single_broker, cluster, topic)


def test_the_generator_agrees_with_kafkas_own_tool_when_nothing_blocks(bench: Bench) -> None:
    pairs = [(bench.generator({}, seconds=2), bench.kafkas_own({}, seconds=2)) for _ in range(3)]

    # Whatever else the machine does only adds to a latency, so the least disturbed run of each tool is compared.
    # Kafka's own counts whole milliseconds and makes each payload as it goes: at 6 ms on a busy machine, 3 ms apart.
    for latency in ("latency_p50_ms", "latency_from_send_p95_ms"):
        ours, theirs = (min(getattr(figures, latency) for figures in tool) for tool in zip(*pairs, strict=True))
        assert abs(ours - theirs) <= 2.0 + 0.3 * theirs, f"{latency}: {ours} and {theirs}"


def test_latency_from_the_due_time_shows_a_paused_broker_in_every_delayed_record(bench: Bench) -> None:
    figures = bench.with_broker_paused(lambda: bench.generator({}))

    # A quarter of the records was due during the pause; each waited for what was left of it. So a tenth of all
    # records waited for 0.6 s or longer, and the mean over all is a quarter of half a second.
    assert figures.latency_max_ms >= 950
    assert figures.latency_p99_ms >= 900
    assert figures.latency_p95_ms == pytest.approx(800, abs=150)
    assert figures.latency_avg_ms >= 0.9 * 1000 * PAUSE_S**2 / 2 / PACED_S


def test_the_waiting_of_a_blocked_send_is_hidden_from_kafkas_own_tool_and_not_from_the_generator(bench: Bench) -> None:
    little_room = {"buffer.memory": 32_768}  # 32 records; send() blocks for all further ones during the pause
    ours = bench.with_broker_paused(lambda: bench.generator(little_room))
    theirs = bench.with_broker_paused(lambda: bench.kafkas_own(little_room))

    said = f"p95 of the generator {ours.latency_p95_ms} ms, from send() {ours.latency_from_send_p95_ms} ms; of Kafka's "
    said += f"own tool {theirs.latency_p95_ms} ms"
    print(said)
    assert ours.latency_p95_ms >= 650, said
    assert ours.latency_from_send_p95_ms < ours.latency_p95_ms / 3, said
    assert theirs.latency_p95_ms < ours.latency_p95_ms / 3, said
    assert theirs.latency_max_ms >= 900, said  # it saw the pause, in the few records that were under way


def test_a_key_always_goes_to_the_same_partition_and_keys_spread_over_several(
    bench: Bench, single_broker: RunningBrokers
) -> None:
    timed = TimedLoad(warmup_s=0.5, seconds=0.5, paced_warmup_s=0, paced_seconds=0, paced_rate_records_s=0)
    tool = LoadGenerator(single_broker.bootstrap_servers, None, single_broker.settings)
    request = LoadRequest(bench.topic, 100, {}, timeout_s=120, timed=timed, throughput_records_s=200.0, keys=6)
    sent = sum(tool.run(request).records_sent for _ in range(2))

    found = consumed_keys(single_broker, bench.topic, sent)
    partitions: dict[str, set[str]] = {}
    for partition, key in found:
        partitions.setdefault(key, set()).add(partition)
    assert partitions.keys() == {f"key-{number}" for number in range(6)}
    assert all(len(each) == 1 for each in partitions.values())
    assert len(set.union(*partitions.values())) > 1


def consumed_keys(brokers: RunningBrokers, topic: str, records: int) -> list[tuple[str, str]]:
    """Partition and key of each record, read with Kafka's own consumer."""
    consumer = ["-cp", f"{brokers.settings.kafka_jars}/*", "org.apache.kafka.tools.consumer.ConsoleConsumer"]
    what = ["--topic", topic, "--from-beginning", "--max-messages", str(records), "--timeout-ms", "30000"]
    shown = [f"print.{name}={'true' if name != 'value' else 'false'}" for name in ("key", "partition", "value")]
    read = subprocess.run(
        [brokers.settings.java, "-Xmx128m", *consumer, "--bootstrap-server", brokers.bootstrap_servers, *what]
        + [option for each in shown for option in ("--formatter-property", each)],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [(partition, key) for partition, _, key in (line.partition("\t") for line in read.stdout.splitlines())]
