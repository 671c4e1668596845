"""The record of a begun ingestion, and batches that fit the topic."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.drivers.ingestion.begun_ingestions import BegunIngestion, BegunIngestions, file_digest
from kafka_pareto.drivers.ingestion.file_ingestion import PROPERTIES, properties_of
from kafka_pareto.errors import BadInputError, LeaseHeldError

pytestmark = pytest.mark.fast

FOUND: dict[str, Any] = {
    "file": "/rows.csv",
    "sha256": "a" * 64,
    "bytes": 1000,
    "topic": "books",
    "cluster_id": "cluster",
    "delimiter": ",",
}


def test_an_unfinished_ingestion_is_found_by_cluster_and_topic(tmp_path: Path) -> None:
    kept, begun = BegunIngestions(tmp_path / "ingestions"), BegunIngestion(**FOUND, partitions=3)

    kept.keep(begun)

    assert kept.known("cluster", "books") == begun
    assert kept.known("cluster", "others") is None
    assert kept.known("another", "books") is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b'{"file": 3}', r"by this release; .*topics books and books\.malformed hold", id="another form"),
        pytest.param(b"\xff", "by this release", id="not UTF-8"),
        pytest.param(None, "Is a directory$", id="a folder"),
    ],
)
def test_an_unreadable_file_is_refused_with_its_path(tmp_path: Path, content: bytes | None, said: str) -> None:
    kept = BegunIngestions(tmp_path)
    place = kept.place("cluster", "books")
    if content is None:
        place.mkdir()
    else:
        place.write_bytes(content)

    with pytest.raises(BadInputError, match=rf"{place}: cannot be read:? {said}"):
        kept.known("cluster", "books")


def test_one_run_at_a_time_has_a_topic(tmp_path: Path) -> None:
    with BegunIngestions(tmp_path).alone("cluster", "books"):
        with BegunIngestions(tmp_path).alone("cluster", "others"):
            pass
        with pytest.raises(LeaseHeldError, match="topic books: another make ingest"):
            BegunIngestions(tmp_path).alone("cluster", "books").__enter__()
    with BegunIngestions(tmp_path).alone("cluster", "books"):
        pass


def test_how_far_a_files_hash_is_is_reported_while_it_is_read(tmp_path: Path) -> None:
    file, said, size = tmp_path / "rows.csv", list[tuple[int, int]](), 9 << 20
    file.write_bytes(b"x" * size)

    found = file_digest(file, lambda read, of: said.append((read, of)))

    assert found == (size, hashlib.sha256(b"x" * size).hexdigest())
    assert said == [(4 << 20, size), (8 << 20, size), (size, size)]


@pytest.mark.parametrize(
    ("limit", "batch_bytes", "request_bytes"),
    [
        (None, 524288, None),
        (1048588, 524288, 1044492),
        (100_000, 95_904, 95_904),
        (1_000, 500, 500),
        (1 << 24, 524288, 1 << 20),
    ],
)
def test_batches_and_rows_are_no_larger_than_the_topic_takes(
    limit: int | None, batch_bytes: int, request_bytes: int | None
) -> None:
    found = properties_of(BegunIngestion(**FOUND, max_message_bytes=limit))

    assert (found["batch.size"], found.get("max.request.size")) == (batch_bytes, request_bytes)
    assert found["compression.type"] == PROPERTIES["compression.type"]


@pytest.mark.parametrize(("most_mib_s", "buffer_mib"), [(0.0, 128), (0.5, 2), (20.0, 20), (500.0, 128)])
def test_a_rate_limit_keeps_no_more_than_a_second_in_the_buffer(most_mib_s: float, buffer_mib: int) -> None:
    assert properties_of(BegunIngestion(**FOUND), most_mib_s)["buffer.memory"] == buffer_mib << 20
