"""The archived classes of a broker and of the cluster helper."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import psutil
import pytest

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.brokers.jvm import BROKER
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.admin_process import HELPER
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.java import cds_archive
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto_embedded.bootstrap import cds_archives
from tests.quick_java import VARIABLE

pytestmark = [pytest.mark.brokers, pytest.mark.studies]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return the settings of an installation without archives."""
    shutil.copytree(load_settings().kafka_jars, tmp_path / "jars", copy_function=os.link)
    monkeypatch.setenv("KAFKA_PARETO_KAFKA_JARS", str(tmp_path / "jars"))
    monkeypatch.setenv(VARIABLE, "java")
    return load_settings()


def test_both_programs_start_from_their_archives_and_a_damaged_one_is_named(settings: Settings) -> None:
    cds_archives.main()

    with Brokers(1, settings, jmx_configuration=None) as brokers:
        assert maps(brokers.pids["kafka-1"], cds_archive(settings.kafka_jars, BROKER))
        others = set(psutil.Process().children())
        archive = cds_archive(settings.kafka_jars, HELPER)
        with Cluster(brokers.bootstrap_servers, None, settings):
            (helper,) = set(psutil.Process().children()) - others
            assert maps(helper.pid, archive)

        damaged = archive.read_bytes()[: archive.stat().st_size // 2]
        archive.unlink()
        archive.write_bytes(damaged)
        with pytest.raises(ClusterError, match=re.escape(f"its CDS archive may be damaged: delete {archive}")):
            Cluster(brokers.bootstrap_servers, None, settings).__enter__()


def maps(pid: int, file: Path) -> bool:
    return str(file) in [each.path for each in psutil.Process(pid).memory_maps()]
