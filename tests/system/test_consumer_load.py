"""Groups of consumers on a real broker: each record once, as many as Kafka's own tool counts, and a slow one's lag."""

from __future__ import annotations

import csv
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from kafka_pareto.drivers.consumer.load import ConsumerLoad, ConsumerRequest, ConsumerResult, LiveLoad
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import java_environment
from tests.system.broker_fixtures import RunningBrokers

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

RECORDS, SIZE_BYTES, PARTITIONS = 20_000, 100, 6
RATE_RECORDS_S = 400.0


@dataclass
class Bench:
    """A topic on one broker, and the consumers that read it."""

    brokers: RunningBrokers
    cluster: Cluster
    topic: str

    def read(self, **changes: object) -> ConsumerResult:
        tool = ConsumerLoad(self.brokers.bootstrap_servers, None, self.brokers.settings)
        request = ConsumerRequest(self.topic, f"group-{secrets.token_hex(4)}", {}, timeout_s=90, read_timeout_s=30)
        return tool.run(replace(request, **changes))


@pytest.fixture(scope="module")
def bench(single_broker: RunningBrokers) -> Iterator[Bench]:
    topic = f"consumers-{secrets.token_hex(4)}"
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic(topic, PARTITIONS, 1)
        yield Bench(single_broker, cluster, topic)


@pytest.fixture(scope="module")
def filled(bench: Bench) -> Bench:
    """The same with unread records in the topic."""
    bench.brokers.send(bench.topic, RECORDS, str(SIZE_BYTES))
    return bench


@pytest.mark.parametrize(
    ("consumers", "protocol"), [pytest.param(1, "classic", marks=pytest.mark.long), (3, "classic"), (3, "consumer")]
)
def test_a_group_reads_every_record_once_whatever_its_size(filled: Bench, consumers: int, protocol: str) -> None:
    result = filled.read(consumers=consumers, properties={"group.protocol": protocol, "max.poll.records": 200})

    found = result.quantities
    assert result.errors == ""
    assert found.records_expected == found.records_read == RECORDS == filled.cluster.end_offset(filled.topic)
    assert (found.records_lost, found.records_twice, result.records_unread) == (0, 0, 0)
    assert result.assignments_changed == 0
    assert result.bytes_read == RECORDS * SIZE_BYTES
    assert found.figures is not None
    assert found.figures.read_records_s == pytest.approx(RECORDS / found.figures.measured_s)
    assert 0 <= found.figures.poll_idle_fraction <= 1
    assert 0 < found.figures.consumer_threads_cpu_s < result.client_cpu_s
    assert found.rebalance_s is not None
    assert found.client.fetch_latency_avg_ms is not None
    assert found.client.fetch_latency_avg_ms <= (found.client.fetch_latency_max_ms or 0)
    assert found.client.records_per_fetch_avg is not None


def test_one_consumer_counts_as_kafkas_own_tool_does(filled: Bench) -> None:
    ours = filled.read()
    megabytes, records = _of_kafkas_tool(filled)

    assert records == ours.quantities.records_read
    assert megabytes == pytest.approx(ours.bytes_read / (1 << 20), abs=1e-3)


def test_a_group_with_more_consumers_than_partitions_is_refused_by_both_numbers(filled: Bench) -> None:
    with pytest.raises(LoadToolError, match="7 consumers for 6 partitions"):
        filled.read(consumers=PARTITIONS + 1)


@pytest.mark.long
def test_the_lag_of_a_group_that_sustains_the_load_does_not_grow_and_every_record_is_read(bench: Bench) -> None:
    result = bench.read(consumers=2, warmup_s=1.0, live=LiveLoad(SIZE_BYTES, RATE_RECORDS_S, seconds=2.0))

    found, live = result.quantities, result.quantities.live
    assert result.errors == ""
    assert live is not None
    assert found.records_expected == found.records_read == 3 * RATE_RECORDS_S
    assert (found.records_lost, found.records_twice, live.live_records_unread) == (0, 0, 0)
    assert live.live_rate_records_s == pytest.approx(RATE_RECORDS_S, rel=0.05)
    assert live.lag_slope_records_s is not None
    assert live.lag_slope_records_s < 0.1 * RATE_RECORDS_S  # what a busy machine holds up at first makes it fall
    assert result.lag_samples[-1].lag_s < 0.5
    assert live.end_to_end_latency_p50_ms is not None
    assert 0 < live.end_to_end_latency_p50_ms < 500


@pytest.mark.long
def test_the_lag_of_a_group_that_reads_less_than_is_sent_grows_by_the_difference(bench: Bench) -> None:
    most_records_s = 100.0
    slow = {"max.poll.records": 1}
    live = LiveLoad(SIZE_BYTES, RATE_RECORDS_S, seconds=3.0, unread_s=0.0)
    result = bench.read(properties=slow, poll_pause_ms=1_000 / most_records_s, warmup_s=1.0, live=live)

    figures, found = result.quantities.figures, result.quantities.live
    assert figures is not None
    assert found is not None
    assert 0.3 * most_records_s < figures.read_records_s <= most_records_s
    assert found.lag_slope_records_s == pytest.approx(RATE_RECORDS_S - figures.read_records_s, rel=0.1)
    assert found.lag_max_s == pytest.approx(4.0 * (1 - figures.read_records_s / RATE_RECORDS_S), rel=0.15)
    assert found.live_records_unread == pytest.approx(4 * (RATE_RECORDS_S - figures.read_records_s), rel=0.15)
    assert result.quantities.records_lost == 0


def _of_kafkas_tool(bench: Bench) -> tuple[float, int]:
    """Return the MB (of 2^20 bytes) and the records that Kafka's own tool reports."""
    tool = ["-cp", f"{bench.brokers.settings.kafka_jars}/*", "org.apache.kafka.tools.ConsumerPerformance"]
    what = ["--topic", bench.topic, "--num-records", str(RECORDS), "--bootstrap-server"]
    done = subprocess.run(
        [bench.brokers.settings.java, "-Xmx256m", *tool, *what, bench.brokers.bootstrap_servers],
        env=java_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    head, row = [line for line in csv.reader(done.stdout.splitlines(), skipinitialspace=True) if len(line) > 5][:2]
    printed = dict(zip(head, row, strict=True))
    return float(printed["data.consumed.in.MB"]), int(printed["data.consumed.in.nMsg"])
