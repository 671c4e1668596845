"""Kafka's own producer as the judge of the rules by which a user's settings are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kafka_pareto.kafka.user_settings import read_producer_file
from kafka_pareto.settings import load_settings
from tests.exported_settings import read_by_java

pytestmark = pytest.mark.servers  # none, but a JVM that starts producers

STARTS_PRODUCERS = Path(__file__).parents[1] / "fixtures" / "StartsProducers.java"
SETS = 300
IN_FLIGHT = "max.in.flight.requests.per.connection"
VALUES = {
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


def drawn(seed: int) -> list[dict[str, str]]:
    """Files of a few settings each, most of them with values that are valid by themselves."""
    rng = np.random.default_rng(seed)
    names = list(VALUES)
    files = []
    for _ in range(SETS):
        chosen = rng.choice(len(names), size=rng.integers(1, 6), replace=False)
        files.append({names[at]: str(rng.choice(VALUES[names[at]])) for at in chosen})
    return files


def is_read(text: str) -> bool:
    try:
        read_producer_file(text)
    except ValueError:
        return False
    return True


def test_a_file_is_refused_where_kafkas_producer_does_not_start_and_nowhere_else(tmp_path: Path) -> None:
    files = drawn(36)
    for number, settings in enumerate(files):
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (tmp_path / f"{number}.properties").write_text(text)
    said = dict(line.split(": ", 1) for line in read_by_java(STARTS_PRODUCERS, load_settings().kafka_jars, tmp_path))
    assert len(said) == SETS
    refused = {name for name, reason in said.items() if reason}
    assert 50 < len(refused) < SETS - 50

    different = {}
    for number, settings in enumerate(files):
        name = f"{number}.properties"
        # Read as before Kafka 4.0, with a note: idempotence that nobody asked for gives way.
        gives_way = "enable.idempotence" not in settings and settings.get(IN_FLIGHT) == "6"
        ours = is_read((tmp_path / name).read_text())
        if ours == (name in refused) and not (ours and gives_way):
            different[str(settings)] = said[name]
    assert different == {}
