"""A seeded fake of the cluster and its load generator: the full loop runs without Kafka.

It has the interfaces of the real ones, prints the real tool's output, and can misbehave on request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.drivers.common.load_tool import Execution, LoadRequest, LoadResult
from kafka_pareto.drivers.common.producer_performance import load_result, parse_perf_output
from kafka_pareto.drivers.common.systems import fingerprint_of
from kafka_pareto.drivers.producer.payload import payload_files
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import (
    AllTopicsHealth,
    Broker,
    Cluster,
    ClusterDescription,
    LogDir,
    PartitionHealth,
    TopicHealth,
    TroubledTopic,
)
from kafka_pareto.kafka.known_properties import resolved
from kafka_pareto.kafka.topic_mark import TopicMark
from kafka_pareto.measurement.fingerprint import keep_fingerprint
from kafka_pareto.measurement.own_topics import topic_name
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import LEASE_SECONDS, ClusterLease


class FakeCluster(Cluster):
    """Topics as counters. A test may change `leaders`, `in_sync`, `dirs` or `troubled` to play a failing broker.

    `arriving_late` is how many records arrive once somebody has asked for a topic's growth.
    """

    def __init__(self) -> None:
        super().__init__("fake:9092", None, Settings())
        self.end_offsets: dict[str, int] = defaultdict(int)
        self.deletions: list[str] = []
        self.leaders: list[int | None] = [1, 2, 3]
        self.in_sync = 3
        self.dirs: tuple[LogDir, ...] = ()
        self.arriving_late = 0
        self.troubled: tuple[TroubledTopic, ...] = ()
        self.hidden_topics = 0
        self.mark_refusal: ClusterError | None = None

    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def describe(self) -> ClusterDescription:
        brokers = tuple(Broker(id=n, host="fake", port=9092, rack=None) for n in (1, 2, 3))
        return ClusterDescription(cluster_id="fake", brokers=brokers, controller_id=1, kafka_version="4.3")

    def create_topic(self, topic: str, *_: object) -> str:
        return "existed" if topic in self.end_offsets else "created"

    def delete_topic(self, topic: str) -> str:
        return "deleted" if self.end_offsets.pop(topic, None) is not None else "absent"

    def topic_health(self, topic: str, timeout_s: float = 0.0) -> TopicHealth:  # noqa: ARG002
        partitions = tuple(
            PartitionHealth(partition=at, leader_id=leader, replicas=3, in_sync_replicas=self.in_sync)
            for at, leader in enumerate(self.leaders)
        )
        return TopicHealth(topic=topic, partitions=partitions, min_insync_replicas=2)

    def topics(self, prefix: str) -> list[str]:
        return sorted(topic for topic in self.end_offsets if topic.startswith(prefix))

    def all_topics_health(self, timeout_s: float = 0.0) -> AllTopicsHealth:  # noqa: ARG002
        return AllTopicsHealth(topics=len(self.end_offsets), troubled=self.troubled)

    def topics_on_brokers(self) -> int:
        return len(self.end_offsets) + self.hidden_topics

    def mark(self, topic: str) -> TopicMark:
        def ask(operation: str, timeout_s: float = 0.0, **arguments: object) -> object:  # noqa: ARG001
            if self.mark_refusal:
                raise self.mark_refusal
            return "an-id"

        return TopicMark(ask, topic)

    def end_offset(self, topic: str) -> int:
        return self.end_offsets[topic]

    def delete_records(self, topic: str) -> None:
        self.deletions.append(topic)

    def log_dirs(self, topic: str) -> tuple[LogDir, ...]:  # noqa: ARG002
        return self.dirs

    def wait_for_end_offset_growth(self, topic: str, before: int, expected: int, deadline_s: float) -> int:  # noqa: ARG002
        growth = self.end_offsets[topic] - before
        self.end_offsets[topic] += self.arriving_late
        self.arriving_late = 0
        return growth


class FakeLease:
    """A lease that is held until a test revokes it."""

    held = True

    def is_held(self) -> bool:
        return self.held

    def renew(self) -> bool:
        return self.held


class FakeLoadTool:
    """A smooth response surface with seeded noise; `before_run` and `after_run` may raise, or spoil what they touch.

    The noise follows from the seed and from `place`, which tells one repetition from another; by default the number
    of requests, which begins anew with each tool.
    """

    def __init__(self, cluster: FakeCluster, seed: int = 1, place: Callable[[], int] | None = None) -> None:
        self._cluster = cluster
        self._seed = seed
        self._place = place or (lambda: len(self.requests))
        self.requests: list[LoadRequest] = []
        self.before_run: Callable[[LoadRequest], None] = lambda _: None
        self.after_run: Callable[[LoadResult], LoadResult] = lambda result: result
        self.lost_records = 0

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        self.requests.append(request)
        self.before_run(request)
        if watch:
            watch()
        rng = np.random.default_rng([self._seed, self._place()])
        text = _printed(request, rng)
        self._cluster.end_offsets[request.topic] += request.records - self.lost_records
        result = load_result(parse_perf_output(text), request, Execution(text, "", wall_s=0.9, cpu_s=1.2))
        return self.after_run(result)


@contextmanager
def fake_testbed(
    campaign: Campaign, case: str, seed: int = 1, lease_term_s: float = LEASE_SECONDS
) -> Iterator[Testbed]:
    """A testbed whose cluster and load generator are fakes; lease and store are the real ones."""
    cluster = FakeCluster()

    def place() -> int:
        """How many repetitions are in the store: the noise of the next is the same after a restart."""
        keys = campaign.keys
        rounds = campaign.study.round_numbers()
        prefixes = [keys.noise_repetitions(case), keys.discarded(case)]
        prefixes += [keys.measurements(case, number) for number in rounds]
        prefixes.append(keys.confirmation(case, "repetitions/"))
        return sum(len(campaign.store.keys(prefix)) for prefix in prefixes)

    with ClusterLease(campaign.store, "fake", wait_s=5.0, term_s=lease_term_s) as lease:
        topic = topic_name(campaign.keys, case)
        keep_fingerprint(campaign, case, fingerprint_of(cluster.describe(), campaign.study, topic))
        with payload_files(campaign) as payloads:
            yield Testbed(cluster, FakeLoadTool(cluster, seed, place), lease, topic, payloads)


def settings_with_folder_store(folder: Path) -> Settings:
    """Settings that keep artifacts in a folder and name no server."""
    return Settings(store_folder=folder)


def _printed(request: LoadRequest, rng: np.random.Generator) -> str:
    known = resolved(request.properties)
    records_per_batch = max(int(known["batch.size"]) / request.record_size_bytes, 0.5)
    ratio = {"none": 1.0, "gzip": 0.75, "snappy": 1.1, "lz4": 1.2, "zstd": 1.15}[str(known["compression.type"])]
    acks = {"0": 1.3, "1": 1.15, "all": 1.0}[str(known["acks"])]
    pace = 2000.0 * acks * ratio * min(records_per_batch, 16.0) ** 0.4 / (1 + int(known["linger.ms"]) / 400)
    pace *= rng.lognormal(0.0, 0.05)
    p95 = max(round(2e5 / pace * rng.lognormal(0.0, 0.1)), 1)
    mib_s = pace * request.record_size_bytes / (1 << 20)

    def line(records: int, words: str) -> str:
        return (
            f"{records} {words}records sent, {pace:.6f} records/sec ({mib_s:.2f} MB/sec), {p95 * 0.6:.2f} ms avg "
            f"latency, {p95 * 1.5:.2f} ms max latency, {p95 // 2} ms 50th, {p95} ms 95th, {p95 + 1} ms 99th, "
            f"{p95 + 2} ms 99.9th."
        )

    lines = [line(request.records, "")]
    if request.warmup_records:
        lines.append(line(request.records - request.warmup_records, "steady state "))
    return "\n".join(lines) + "\n"
