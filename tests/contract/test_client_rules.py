"""Kafka's own clients as the judges of the rules by which a user's settings are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from kafka_pareto.kafka.user_settings import ClientFile, read_consumer_file, read_producer_file
from kafka_pareto.settings import load_settings
from tests.exported_settings import read_by_java

pytestmark = pytest.mark.servers  # none, but a JVM that starts clients

STARTS_CLIENTS = Path(__file__).parents[1] / "fixtures" / "StartsClients.java"
SETS = 300
IN_FLIGHT = "max.in.flight.requests.per.connection"
OF_A_PRODUCER = {
    "acks": ["0", "1", "all", "-1", "2", "ALL"],
    "batch.size": ["0", "1", "16384", "1048576", "-1", "16k", "2147483648"],
    "buffer.memory": ["33554432", "268435456", "1e6"],
    "compression.gzip.level": ["1", "9", "10", "-1", "0"],
    "compression.type": ["none", "zstd", "lz4", "snappy", "gzip", "ZSTD", "brotli"],
    "compression.zstd.level": ["-7", "1", "22", "23"],
    "delivery.timeout.ms": ["120000", "30000", "30005", "1", "-1", "2147483647"],
    "enable.idempotence": ["true", "false", "True", "yes"],
    "linger.ms": ["0", "5", "100", "-1", "5.5", "2147483647"],
    IN_FLIGHT: ["1", "5", "6", "0"],
    "max.request.size": ["0", "1048576", "-1"],
    "request.timeout.ms": ["1", "30000", "120000", "-1"],
    "retries": ["0", "3", "2147483647", "-1"],
}


OF_A_CONSUMER = {
    "auto.commit.interval.ms": ["0", "5000", "-1"],
    "auto.offset.reset": ["latest", "none", "EARLIEST", "by_duration:PT1H", "by_duration:P1DT2H3.5S", "by_duration:1h"],
    "check.crcs": ["true", "FALSE", "no"],
    "enable.auto.commit": ["true", "false", "True", "yes"],
    "fetch.max.bytes": ["0", "52428800", "-1"],
    "fetch.max.wait.ms": ["0", "500", "40000", "0.5"],
    "fetch.min.bytes": ["0", "1", "1048576", "-1", "2147483648"],
    "group.id": ["g", "g", "g", ""],
    "group.protocol": ["classic", "consumer", "Consumer", "streams"],
    "group.remote.assignor": ["uniform", ""],
    "heartbeat.interval.ms": ["0", "3000", "10000", "-1"],
    "isolation.level": ["read_committed", "read_uncommitted", "READ_COMMITTED"],
    "max.partition.fetch.bytes": ["0", "1048576", "-1"],
    "max.poll.interval.ms": ["1", "300000", "0"],
    "max.poll.records": ["1", "500", "0"],
    "partition.assignment.strategy": ["org.apache.kafka.clients.consumer.RoundRobinAssignor", ""],
    "request.timeout.ms": ["0", "30000", "-1"],
    "session.timeout.ms": ["45000", "10000", "3000", "0"],
    "share.acquire.mode": ["record_limit"],
}
# Sessions, heartbeats and the protocol conflict with each other: they are drawn more often.
WEIGHTS = {"group.protocol": 4, "heartbeat.interval.ms": 3, "session.timeout.ms": 3, "share.acquire.mode": 0.3}


def drawn(seed: int, values: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Files of a few settings each, most of them with values that are valid by themselves."""
    rng = np.random.default_rng(seed)
    names = list(values)
    weights = np.array([WEIGHTS.get(name, 1) for name in names], dtype=float)
    # Evenly drawn names keep the generator's older sequence.
    probabilities = None if set(weights) == {1} else weights / weights.sum()
    files = []
    for _ in range(SETS):
        chosen = rng.choice(len(names), size=rng.integers(1, 6), replace=False, p=probabilities)
        files.append({names[at]: str(rng.choice(values[names[at]])) for at in chosen})
    return files


def is_read(text: str, read: Callable[[str], ClientFile]) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def judged_by_kafka(files: Sequence[Mapping[str, str]], folder: Path, suffix: str) -> list[str]:
    """Why Kafka's client does not start with each file; empty if it does."""
    for number, settings in enumerate(files):
        (folder / f"{number}{suffix}").write_text(text_of(settings))
    said = dict(line.split(": ", 1) for line in read_by_java(STARTS_CLIENTS, load_settings().kafka_jars, folder))
    assert len(said) == len(files)
    return [said[f"{number}{suffix}"] for number in range(len(files))]


def text_of(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def test_a_file_is_refused_where_kafkas_producer_does_not_start_and_nowhere_else(tmp_path: Path) -> None:
    files = drawn(36, OF_A_PRODUCER)
    reasons = judged_by_kafka(files, tmp_path, ".properties")
    assert 50 < sum(map(bool, reasons)) < SETS - 50

    different = {}
    for settings, reason in zip(files, reasons, strict=True):
        # Read as before Kafka 4.0, with a note: idempotence that nobody asked for gives way.
        gives_way = "enable.idempotence" not in settings and settings.get(IN_FLIGHT) == "6"
        ours = is_read(text_of(settings), read_producer_file)
        if ours == bool(reason) and not (ours and gives_way):
            different[str(settings)] = reason
    assert different == {}


@pytest.mark.studies
def test_a_file_is_refused_where_kafkas_consumer_does_not_start_in_a_group_and_nowhere_else(tmp_path: Path) -> None:
    # The group's name is the load's or the program's where a file has none.
    files = [{"group.id": "g", **settings} for settings in drawn(36, OF_A_CONSUMER)]
    reasons = judged_by_kafka(files, tmp_path, ".consumer.properties")
    assert 50 < sum(map(bool, reasons)) < SETS - 50
    different = {
        str(settings): reason
        for settings, reason in zip(files, reasons, strict=True)
        if is_read(text_of(settings), read_consumer_file) == bool(reason)
    }
    assert different == {}


@pytest.mark.studies
def test_a_consumer_that_commits_by_itself_needs_a_group_as_the_note_says(tmp_path: Path) -> None:
    files = [{"enable.auto.commit": "true"}, {"enable.auto.commit": "false"}, {"fetch.min.bytes": "1"}]
    reasons = judged_by_kafka(files, tmp_path, ".consumer.properties")
    assert [bool(reason) for reason in reasons] == [True, False, False]
    noted = [any("needs a group.id" in note for note in read_consumer_file(text_of(each)).notes) for each in files]
    assert noted == [True, False, False]
