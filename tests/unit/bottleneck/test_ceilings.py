"""Ceilings that need no Java; that of the client is measured with the brokers' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.bottleneck.ceilings import measure_client, measure_disk_write, measure_loopback
from kafka_pareto.errors import LoadToolError
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast


def test_loopback_carries_more_than_any_disk_of_these_tests() -> None:
    assert measure_loopback(seconds=0.05) > 20


def test_a_disk_is_written_and_nothing_is_left(tmp_path: Path) -> None:
    written = measure_disk_write(tmp_path, size_mib=16)
    assert written is not None
    assert written > 0
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_left_alone(tmp_path: Path) -> None:
    assert measure_disk_write(tmp_path, size_mib=1 << 40) is None


def test_a_client_that_cannot_be_started_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LoadToolError, match=r"measuring the client's ceilings failed: .*no-java"):
        measure_client(Settings(java=str(tmp_path / "no-java"), kafka_jars=tmp_path), 100, 16384)
