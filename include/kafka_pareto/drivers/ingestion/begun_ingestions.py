"""Remember which ingestions were begun with which file, and let only one run at a time resume each."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_pareto.errors import BadInputError, LeaseHeldError
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.storage.record import Record

_CHUNK_BYTES = 1 << 22


class BegunIngestion(Record):
    """The file of an interrupted ingestion; only this file may resume it, into the same partitions.

    Attributes:
        key: Columns of the records' keys, separated by commas; empty if keys are positions in the file.
        value_schema: The given schema of the values; empty for types from the first row.
        registry: The schema registry's address; empty without one.
        schema_id: The ID of the Avro schema in it; None without one.
        partitions: Of the topic; None in a file of an earlier release.
        max_message_bytes: Of the topic at the beginning, so the same rows stay too large. None like `partitions`.
        from_offsets: By partition, the topic's end before the ingestion; empty if it held no records.
        malformed_from_offset: The same of the dead-letter topic.
        is_done: True once all rows have arrived.
    """

    file: str
    sha256: str
    bytes: int
    topic: str
    cluster_id: str
    delimiter: str
    encoding: str = "bytes"
    key: str = ""
    value_schema: str = ""
    registry: str = ""
    schema_id: int | None = None
    partitions: int | None = None
    max_message_bytes: int | None = None
    from_offsets: tuple[int, ...] = ()
    malformed_from_offset: int = 0
    is_done: bool = False

    @property
    def malformed_topic(self) -> str:
        """Return the dead-letter topic of malformed lines."""
        return f"{self.topic}.malformed"


class BegunIngestions:
    """Keep one file per ingestion in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, cluster_id: str, topic: str) -> Path:
        """Return the path of an ingestion's file."""
        name = hashlib.sha256(f"{cluster_id}/{topic}".encode()).hexdigest()[:16]
        return self._folder / f"{name}.json"

    def known(self, cluster_id: str, topic: str) -> BegunIngestion | None:
        """Return the ingestion begun with this topic, if any.

        Raises:
            BadInputError: If its file cannot be read.
        """
        place = self.place(cluster_id, topic)
        try:
            return BegunIngestion.model_validate_json(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInputError(f"{place}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise BadInputError(
                f"{place}: cannot be read by this release; use another topic, or, if topics {topic} and "
                f"{topic}.malformed hold nothing else, delete both topics and this file"
            ) from error

    def keep(self, begun: BegunIngestion) -> None:
        """Write an ingestion's state."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.place(begun.cluster_id, begun.topic), begun.model_dump_json() + "\n")

    @contextmanager
    def alone(self, cluster_id: str, topic: str) -> Iterator[None]:
        """Keep other runs of this installation away from the topic while the context is open.

        Raises:
            LeaseHeldError: If another run has it.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.place(cluster_id, topic).with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LeaseHeldError(
                    f"topic {topic}: another make ingest sends to it; wait for its end, or stop it"
                ) from None
            yield


def file_digest(file: Path, follow: Callable[[int, int], None]) -> tuple[int, str]:
    """Return a file's size in bytes and its SHA-256.

    Args:
        file: The file.
        follow: Called repeatedly with bytes read and total bytes: a large file takes minutes.

    Raises:
        BadInputError: If it is not a file, or cannot be read.
    """
    if not file.is_file():
        raise BadInputError(f"{file}: {'not a file' if file.exists() else 'file not found'}")
    try:
        with file.open("rb") as content:
            digest, size, read = hashlib.sha256(), os.fstat(content.fileno()).st_size, 0
            while chunk := content.read(_CHUNK_BYTES):
                digest.update(chunk)
                read += len(chunk)
                follow(read, size)
            return read, digest.hexdigest()
    except OSError as error:
        raise BadInputError(f"{file}: cannot be read: {error.strerror}") from error
