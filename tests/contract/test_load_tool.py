"""The contract of every load generator: the real ones on a real broker, and the seeded fake."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest, LoadTool
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.study.study import Study
from tests.fakes import FakeCluster, FakeLoadTool
from tests.recorded import paper_study
from tests.system.broker_fixtures import RunningBrokers

TIMED = TimedLoad(warmup_s=0.5, seconds=0.5, paced_warmup_s=0.5, paced_seconds=1.0, paced_rate_records_s=300.0)


@dataclass
class Bench:
    """A load generator, its cluster, and a matching request."""

    cluster: Cluster
    tool: LoadTool
    request: LoadRequest


def request_of(topic: str, study: Study, **configuration: object) -> LoadRequest:
    properties = study.properties({**study.baseline_configuration(), **configuration})
    return LoadRequest(topic, 1024, properties, timeout_s=120, records=400)


@pytest.fixture
def topic(single_broker: RunningBrokers) -> Iterator[tuple[Cluster, str]]:
    """A topic of three partitions on a real broker."""
    name = f"load-{secrets.token_hex(4)}"
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic(name, 3, 1)
        yield cluster, name


@pytest.fixture
def kafkas_own(single_broker: RunningBrokers, topic: tuple[Cluster, str]) -> Bench:
    tool = ProducerPerformance(single_broker.bootstrap_servers, None, single_broker.settings)
    return Bench(topic[0], tool, request_of(topic[1], paper_study()))


@pytest.fixture
def generator(single_broker: RunningBrokers, topic: tuple[Cluster, str]) -> Bench:
    tool = LoadGenerator(single_broker.bootstrap_servers, None, single_broker.settings)
    return Bench(topic[0], tool, replace(request_of(topic[1], paper_study()), timed=TIMED, throughput_records_s=400.0))


@pytest.fixture(scope="module")
def warm_tool(single_broker: RunningBrokers) -> Iterator[LoadGenerator]:
    """One JVM for all tests: a new one warms up for seconds."""
    with LoadGenerator(single_broker.bootstrap_servers, None, single_broker.settings, keeps_jvm=True) as tool:
        yield tool


@pytest.fixture
def warm_generator(warm_tool: LoadGenerator, generator: Bench) -> Bench:
    return replace(generator, tool=warm_tool)


@pytest.fixture
def fake() -> Bench:
    cluster = FakeCluster()
    return Bench(cluster, FakeLoadTool(cluster), request_of("load", paper_study()))


KAFKAS_OWN = pytest.param("kafkas_own", marks=pytest.mark.brokers)
GENERATOR = pytest.param("generator", marks=pytest.mark.brokers)
WARM = pytest.param("warm_generator", marks=pytest.mark.brokers)
FAKE = pytest.param("fake", marks=pytest.mark.fast)


@pytest.fixture(params=[KAFKAS_OWN, GENERATOR, WARM, FAKE])
def bench(request: pytest.FixtureRequest) -> Bench:
    chosen: Bench = request.getfixturevalue(request.param)
    return chosen


def test_the_requested_load_is_sent_and_arrives(bench: Bench) -> None:
    before = bench.cluster.end_offset(bench.request.topic)
    result = bench.tool.run(bench.request)

    figures, sent = result.figures, result.records_sent
    assert sent == result.records_attempted > 0
    assert bench.cluster.wait_for_end_offset_growth(bench.request.topic, before, sent, deadline_s=10) == sent
    assert figures is not None
    assert 0 < figures.latency_p50_ms <= figures.latency_p95_ms <= figures.latency_p99_ms <= figures.latency_p999_ms
    assert figures.latency_from_send_p95_ms <= figures.latency_p95_ms
    assert figures.throughput_records_s > 0
    if figures.printed_mib_s is not None:
        assert figures.printed_mib_s == pytest.approx(figures.throughput_records_s / 1024, abs=0.005)
    assert result.wall_s > 0
    assert result.client_cpu_s > 0


@pytest.mark.parametrize("bench", [KAFKAS_OWN, FAKE], indirect=True)
def test_warm_up_records_are_sent_but_kept_out_of_the_steady_state(bench: Bench) -> None:
    before = bench.cluster.end_offset(bench.request.topic)
    result = bench.tool.run(replace(bench.request, warmup_records=100))

    assert result.records_sent == 400
    assert result.figures is not None
    assert bench.cluster.wait_for_end_offset_growth(bench.request.topic, before, 400, deadline_s=10) == 400


@pytest.mark.parametrize("acks", ["0", "1", "all"])
@pytest.mark.parametrize("bench", [KAFKAS_OWN, WARM, FAKE], indirect=True)
def test_every_level_of_acks_is_accepted_whatever_idempotence_the_baseline_asks_for(bench: Bench, acks: str) -> None:
    study = paper_study().model_copy(update={"baseline": {"enable.idempotence": True}})
    properties = request_of("load", study, acks=acks).properties
    result = bench.tool.run(replace(bench.request, properties=properties))

    assert result.records_sent == result.records_attempted > 0


def test_the_watch_is_asked_while_the_load_runs(bench: Bench) -> None:
    asked: list[bool] = []

    bench.tool.run(replace(bench.request, throughput_records_s=150.0), lambda: asked.append(True))
    assert asked


@pytest.mark.parametrize("bench", [KAFKAS_OWN, GENERATOR, WARM], indirect=True)
def test_records_are_sent_from_a_payload_file(bench: Bench, tmp_path: Path) -> None:
    payload_file = tmp_path / "records.txt"
    payload_file.write_text(("x" * 1024 + "\n") * 20)
    compressed = {**bench.request.properties, "compression.type": "gzip"}
    result = bench.tool.run(replace(bench.request, payload_file=payload_file, properties=compressed))

    assert result.records_sent == result.records_attempted > 0
    assert result.client.compression_rate_avg is not None
    assert result.client.compression_rate_avg < 0.2  # letters drawn at random come to 0.6


@pytest.mark.parametrize("bench", [GENERATOR, WARM], indirect=True)
def test_zeros_are_sent_by_several_producers_which_arrive_and_share_the_rate(bench: Bench) -> None:
    before = bench.cluster.end_offset(bench.request.topic)
    compressed = {**bench.request.properties, "compression.type": "gzip", "linger.ms": 50}
    result = bench.tool.run(replace(bench.request, made_payload="zeros", producers=3, properties=compressed))

    sent = result.records_sent
    assert sent == result.records_attempted > 0
    assert bench.cluster.wait_for_end_offset_growth(bench.request.topic, before, sent, deadline_s=10) == sent
    assert result.figures is not None
    assert result.figures.throughput_records_s <= 1.1 * 400.0
    assert result.figures.paced_rate_records_s == pytest.approx(300.0, rel=0.1)
    assert result.figures.unthrottled_latency_p50_ms is not None
    assert result.client.compression_rate_avg is not None
    assert result.client.compression_rate_avg < 0.1


@pytest.mark.brokers
@pytest.mark.parametrize(
    ("bench", "spoil"),
    [
        ("kafkas_own", lambda request: replace(request, timed=TIMED)),
        ("kafkas_own", lambda request: replace(request, keys=10)),
        ("kafkas_own", lambda request: replace(request, records=0)),
        ("kafkas_own", lambda request: replace(request, made_payload="zeros")),
        ("kafkas_own", lambda request: replace(request, producers=2)),
        ("generator", lambda request: replace(request, timed=None)),
        ("warm_generator", lambda request: replace(request, timed=None)),
    ],
    indirect=["bench"],
)
def test_options_a_tool_lacks_are_refused_and_nothing_is_sent(
    bench: Bench, spoil: Callable[[LoadRequest], LoadRequest]
) -> None:
    before = bench.cluster.end_offset(bench.request.topic)

    with pytest.raises(LoadToolError, match="load"):
        bench.tool.run(spoil(bench.request))
    assert bench.cluster.end_offset(bench.request.topic) == before


@pytest.mark.brokers
def test_a_machine_with_brokers_flushes_the_unthrottled_parts_data_before_the_rate_limited_one_begins(
    single_broker: RunningBrokers, topic: tuple[Cluster, str]
) -> None:
    tool = LoadGenerator(single_broker.bootstrap_servers, None, single_broker.settings, has_brokers=True)
    result = tool.run(replace(request_of(topic[1], paper_study()), timed=TIMED))

    assert result.is_settled
    assert 0 < result.settling_s < 5
    assert result.figures is not None
