"""Brokers of a study's own are leased by machine."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kafka_pareto.drivers.common.cluster_access import machine_lease

pytestmark = pytest.mark.fast


def test_containers_of_a_machine_share_its_lease_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "boot_id").write_text("0f3c\n", encoding="ascii")
    assert machine_lease(tmp_path / "boot_id") == "machine-0f3c"


def test_a_machine_without_an_id_of_its_boot_is_known_by_its_name(tmp_path: Path) -> None:
    assert machine_lease(tmp_path / "boot_id") == f"machine-{socket.gethostname()}"
