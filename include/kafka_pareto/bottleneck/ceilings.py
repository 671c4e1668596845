"""Measure a machine's maxima without Kafka within seconds: loopback, disk, codecs, load generator."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from pydantic import Field, FiniteFloat, ValidationError

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import Frozen, Record

_MIB = 1 << 20
_MAIN_CLASS = "io.kafkapareto.ClientCeilings"
_JAVA_TIMEOUT_S = 60.0
_SECONDS_OF_EACH = 0.25
_SOCKET_TIMEOUT_S = 10.0
_CHUNK_BYTES = 1 * _MIB
_LEFT_FREE_FRACTION = 0.1


class ClientCeilings(Frozen):
    """Output of the Java program; see `Ceilings`."""

    codec_mib_s: dict[str, FiniteFloat]
    generator_records_s: FiniteFloat = Field(gt=0)


def measure_ceilings(
    folder: Path | None,
    settings: Settings,
    *,
    record_size_bytes: int,
    batch_size_bytes: int,
    payload_file: Path | None = None,
    payload: str = "random",
    client_timeout_s: float = _JAVA_TIMEOUT_S,
    client_cores: int | None = None,
) -> Ceilings:
    """Measure all ceilings in sequence; the machine should be idle.

    Args:
        folder: The brokers' data folder, for a temporary file; None to skip the disk.
        settings: Locations of Java and Kafka's jars.
        record_size_bytes: Size of a record's value.
        batch_size_bytes: Bytes a codec compresses at a time: the producer's `batch.size`.
        payload_file: One record per line; None for random letters.
        payload: The study's name for the records.
        client_timeout_s: Time limit for codecs and load generator.
        client_cores: Cores the load generator may use, if known.

    Raises:
        LoadToolError: If the Java program fails or prints unreadable output.
    """
    client = measure_client(settings, record_size_bytes, batch_size_bytes, payload_file, client_timeout_s)
    return Ceilings(
        record_size_bytes=record_size_bytes,
        payload=payload,
        batch_size_bytes=batch_size_bytes,
        loopback_mib_s=measure_loopback(),
        disk_write_mib_s=None if folder is None else measure_disk_write(folder),
        client_cores=client_cores,
        **client.model_dump(),
    )


def measure_loopback(seconds: float = 0.5) -> float:
    """Return the MiB/s one TCP connection receives over loopback."""
    with socket.create_server((LOOPBACK, 0)) as server:
        sender = threading.Thread(target=_send, args=(server.getsockname()[1], seconds), name="loopback-sender")
        sender.start()
        try:
            server.settimeout(_SOCKET_TIMEOUT_S)
            with server.accept()[0] as connection:
                connection.settimeout(_SOCKET_TIMEOUT_S)
                buffer, received = bytearray(_CHUNK_BYTES), 0
                began_s = time.monotonic()
                while count := connection.recv_into(buffer):
                    received += count
                return received / _MIB / (time.monotonic() - began_s)
        finally:
            sender.join()


def measure_disk_write(folder: Path, size_mib: int = 256, longest_s: float = 1.0) -> float | None:
    """Return the MiB/s of sequential writes with flushes; None without enough space.

    Each chunk is flushed, since the page cache or a long final flush would distort the result. The bytes are random,
    since some disks compress.

    Args:
        folder: The folder of the temporary file.
        size_mib: Maximum size of the file.
        longest_s: Time limit.
    """
    usage = shutil.disk_usage(folder)
    if usage.free - size_mib * _MIB < _LEFT_FREE_FRACTION * usage.total:
        return None
    part = os.urandom(16 * _MIB)
    with tempfile.NamedTemporaryFile(dir=folder, prefix="kafka-pareto-ceiling-", buffering=0) as file:
        written, began_s = 0, time.monotonic()
        while written < size_mib * _MIB and time.monotonic() - began_s < longest_s:
            written += file.write(part)
            os.fdatasync(file.fileno())
        return written / _MIB / (time.monotonic() - began_s)


def measure_client(
    settings: Settings,
    record_size_bytes: int,
    batch_size_bytes: int,
    payload_file: Path | None = None,
    timeout_s: float = _JAVA_TIMEOUT_S,
) -> ClientCeilings:
    """Measure Kafka's codecs and the load generator's loop in a separate JVM, with the generator's records.

    Raises:
        LoadToolError: If the program fails or prints unreadable output.
    """
    argv = [settings.java, "-Xmx512m", "-Duser.language=en", "-cp", f"{settings.kafka_jars.absolute()}/*", _MAIN_CLASS]
    argv += ["--record-size", str(record_size_bytes), "--batch-size", str(batch_size_bytes)]
    argv += ["--seconds", str(_SECONDS_OF_EACH)]
    if payload_file is not None:
        argv += ["--payload-file", str(payload_file)]
    try:
        run = subprocess.run(
            argv, env=java_environment(), capture_output=True, text=True, timeout=timeout_s, check=True
        )
        return ClientCeilings.model_validate_json(run.stdout.strip().rpartition("\n")[2])
    except subprocess.CalledProcessError as error:
        raise LoadToolError(f"measuring the client's ceilings failed: {error.stderr.strip()[-300:]}") from error
    except (OSError, subprocess.TimeoutExpired, ValidationError) as error:
        raise LoadToolError(f"measuring the client's ceilings failed: {error}") from error


def _send(port: int, seconds: float) -> None:
    with socket.create_connection((LOOPBACK, port), timeout=_SOCKET_TIMEOUT_S) as connection:
        chunk, began_s = bytes(_CHUNK_BYTES), time.monotonic()
        while time.monotonic() - began_s < seconds:
            connection.sendall(chunk)


class Ceilings(Record):
    """This machine's maxima, measured while it was idle.

    Attributes:
        record_size_bytes: Record size for codecs and generator.
        payload: The study's name for the records.
        batch_size_bytes: Bytes a codec compressed at a time.
        loopback_mib_s: One TCP connection over loopback, in one direction.
        disk_write_mib_s: Sequential flushed writes to a file in the given folder; None without space or a folder.
        codec_mib_s: Compression rate of one core by `compression.type`, with Kafka's codecs and the generator's
            records.
        generator_records_s: Rate of one load generator thread with a producer that does nothing.
        client_cores: Cores for codecs and generator; None in older records.
    """

    record_size_bytes: int
    payload: str = "random"
    batch_size_bytes: int
    loopback_mib_s: float
    disk_write_mib_s: float | None
    codec_mib_s: dict[str, float] = Field(default_factory=dict)
    generator_records_s: float
    client_cores: int | None = None

    def cores_for(self, threads: int) -> int:
        """Return the number of cores this many threads can use."""
        return threads if self.client_cores is None else min(threads, self.client_cores)
