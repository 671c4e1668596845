"""What any load tool must do: Kafka's own on a real broker, and the seeded fake, held to the same behaviour."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from kafka_pareto.cluster import Cluster
from kafka_pareto.load import LoadRequest, LoadTool
from kafka_pareto.perf_test import ProducerPerformance
from kafka_pareto.study import Study
from tests.fakes import FakeCluster, FakeLoadTool
from tests.recorded import paper_study
from tests.system.broker_fixtures import RunningBrokers

Bench = tuple[Cluster, LoadTool, str]


@pytest.fixture
def real(single_broker: RunningBrokers) -> Iterator[Bench]:
    topic = f"load-{secrets.token_hex(4)}"
    with Cluster(single_broker.bootstrap_servers, None, single_broker.settings) as cluster:
        cluster.create_topic(topic, 3, 1)
        yield cluster, ProducerPerformance(single_broker.bootstrap_servers, None, single_broker.settings), topic


@pytest.fixture
def fake() -> Bench:
    cluster = FakeCluster()
    return cluster, FakeLoadTool(cluster), "load"


@pytest.fixture(params=[pytest.param("real", marks=pytest.mark.brokers), pytest.param("fake", marks=pytest.mark.fast)])
def bench(request: pytest.FixtureRequest) -> Bench:
    chosen: Bench = request.getfixturevalue(request.param)
    return chosen


def request_of(topic: str, study: Study, warmup_records: int = 0, **configuration: object) -> LoadRequest:
    properties = study.producer_properties({**study.baseline_configuration(), **configuration})
    return LoadRequest(topic, 1024, properties, timeout_s=60, records=400, warmup_records=warmup_records)


def test_what_was_asked_for_is_sent_and_arrives(bench: Bench) -> None:
    cluster, tool, topic = bench
    before = cluster.end_offset(topic)
    result = tool.run(request_of(topic, paper_study()))

    figures = result.figures
    assert (result.records_attempted, result.records_sent) == (400, 400)
    assert cluster.wait_for_end_offset_growth(topic, before, 400, deadline_s=10) == 400
    assert figures is not None
    assert 0 < figures.latency_p50_ms <= figures.latency_p95_ms <= figures.latency_p99_ms <= figures.latency_p999_ms
    assert figures.printed_mib_s == pytest.approx(figures.throughput_records_s / 1024, abs=0.005)
    assert result.wall_s > 0
    assert result.client_cpu_s > 0


def test_warm_up_records_are_sent_but_kept_out_of_the_steady_state(bench: Bench) -> None:
    cluster, tool, topic = bench
    before = cluster.end_offset(topic)
    result = tool.run(request_of(topic, paper_study(), warmup_records=100))

    assert result.records_sent == 400
    assert result.figures is not None
    assert cluster.wait_for_end_offset_growth(topic, before, 400, deadline_s=10) == 400


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_level_of_acks_is_accepted_whatever_idempotence_the_baseline_asks_for(bench: Bench, acks: str) -> None:
    _, tool, topic = bench
    study = paper_study().model_copy(update={"baseline": {"enable.idempotence": True}})

    assert tool.run(request_of(topic, study, acks=acks)).records_sent == 400


def test_the_watch_is_asked_while_the_load_runs(bench: Bench) -> None:
    _, tool, topic = bench
    asked: list[bool] = []

    def watch() -> None:
        asked.append(True)

    limited = request_of(topic, paper_study())
    slow = LoadRequest(topic, 1024, limited.properties, timeout_s=60, records=400, throughput_records_s=150)
    assert tool.run(slow, watch).records_sent == 400
    assert asked
