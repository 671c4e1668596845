"""Brokers that hang, die, lose rows or fall behind while a file of rows is sent: none is lost, none is there twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_pareto.drivers.ingestion.file_to_send import FileToSend
from kafka_pareto.drivers.ingestion.output import IngestionOutput
from kafka_pareto.errors import ClusterError
from kafka_pareto_embedded.runs.ingest import watch_of
from tests.system.ingestion_bench import Bench, new_name, require_equal

pytestmark = [pytest.mark.brokers, pytest.mark.studies]


@pytest.mark.parametrize("path", ["producer", pytest.param("batches", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "is_resumable", [pytest.param(False, marks=pytest.mark.long, id=""), pytest.param(True, id="resumable")]
)
def test_a_broker_that_hangs_dies_and_comes_back_costs_no_row(replicated: Bench, path: str, is_resumable: bool) -> None:
    rows, brokers = 400_000, replicated.brokers
    file, topic = replicated.books(rows), replicated.topic(6)
    outputs: list[IngestionOutput] = []

    def send() -> None:
        outputs.append(replicated.send(file, topic, path=path, most_mib_s=2.5, is_resumable=is_resumable))

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    while replicated.cluster.end_offset(topic) == 0 and sending.is_alive():
        time.sleep(0.1)
    leader = replicated.cluster.topic_health(topic).leaders[0]
    victim = next(name for name, node in brokers.nodes.items() if node.number == leader)
    assert sending.is_alive(), "all was sent before a broker could hang"
    try:
        os.kill(brokers.pids[victim], signal.SIGSTOP)  # requests to it have no answer when it dies
        time.sleep(1.0)
        brokers.kill(victim)
        time.sleep(2.0)
    finally:
        brokers.restart(victim)
    sending.join(timeout=120)

    assert outputs
    assert sum(sink.retries for sink in outputs[0].sinks) > 0
    assert outputs[0].failure is None
    assert replicated.cluster.end_offset(topic) == rows
    require_equal(replicated.held(file, topic), rows)


@pytest.mark.long
def test_a_broker_that_comes_back_without_acknowledged_rows_gets_them_again(bench: Bench) -> None:
    rows, brokers = 200_000, bench.brokers
    file, topic = bench.books(rows), bench.topic()
    (name, node) = next(iter(brokers.nodes.items()))
    with ThreadPoolExecutor(1) as threads:
        sending = threads.submit(bench.send, file, topic, path="batches", is_resumable=True, most_mib_s=3)
        while bench.cluster.end_offset(topic) < rows // 5 and not sending.done():
            time.sleep(0.05)
        brokers.kill(name)
        try:
            lose_half(node.data_folder / f"{topic}-0")
        finally:
            brokers.restart(name)
        output = sending.result()

    assert (output.failure, output.resumptions) == (None, 1)
    assert output.rows_acknowledged > rows  # those that were lost are acknowledged twice
    require_equal(bench.held(file, topic), rows)


def test_existing_topics_keep_their_number_of_replicas(replicated: Bench) -> None:
    wanted = FileToSend(replicated.books(500), new_name())
    for topic, partitions in ((wanted.topic, 2), (f"{wanted.topic}.malformed", 1)):
        replicated.cluster.create_topic(topic, partitions, 2)

    begun = replicated.ingestion.begin(wanted)

    assert begun.partitions == 2
    assert replicated.cluster.topic_health(wanted.topic).replication_factor == 2
    require_equal(replicated.ingestion.send(begun, wanted, lambda _: None, None).held, 500)


def lose_half(partition: Path) -> None:
    """Cuts off the later half of a partition's log, as a disk does that forgot what it had not yet written."""
    log = next(partition.glob("*.log"))
    os.truncate(log, log.stat().st_size // 2)
    for derived in (*partition.glob("*.snapshot"), *partition.glob("*index")):
        derived.unlink()


def test_an_ingestion_stops_if_a_replica_falls_behind_and_resumes_once_it_is_back(replicated: Bench) -> None:
    rows, brokers = 200_000, replicated.brokers
    wanted = FileToSend(replicated.books(rows), new_name(), partitions=6)
    ingestion = replicated.ingestion
    begun = ingestion.begin(wanted)
    victim = sorted(brokers.pids)[0]
    killed_at: list[float] = []

    def kill_once_rows_are_there() -> None:
        while replicated.cluster.end_offset(wanted.topic) == 0:
            time.sleep(0.1)
        brokers.kill(victim)
        killed_at.append(time.monotonic())

    killing = threading.Thread(target=kill_once_rows_are_there, daemon=True)
    killing.start()
    try:
        with pytest.raises(ClusterError, match=r"its load may be the cause: .*run the same command again"):
            ingestion.send(
                begun,
                replace(wanted, most_mib_s=0.4),
                lambda _: None,
                watch_of(replicated.cluster, wanted.topic),
            )
        stopped_after_s = time.monotonic() - killed_at[0]
    finally:
        killing.join(timeout=60)
        brokers.restart(victim)
    assert stopped_after_s < 20  # the controllers believe in a dead broker for 9 s
    assert replicated.cluster.end_offset(wanted.topic) < rows

    arrived = ingestion.send(
        ingestion.begin(wanted), wanted, lambda _: None, watch_of(replicated.cluster, wanted.topic)
    )

    require_equal(arrived.held, rows)
