"""Two versions of Kafka's client in one comparison: Kafka 4 waits 5 ms for a batch, Kafka 3 does not."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median

import pytest

from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.studies]


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    """A folder with the jar of Kafka's client 3.9.1."""
    folder = tmp_path / "clients"
    what = ["-Dartifact=org.apache.kafka:kafka-clients:3.9.1", f"-DoutputDirectory={folder / '3.9.1'}"]
    folder.mkdir(mode=0o755)
    argv = ["mvn", "-q", "-B", "--strict-checksums", "dependency:copy", *what]
    subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=300, check=True, umask=0o022)
    return folder


def test_the_longer_linger_of_a_new_client_is_found(clients: Path, tmp_path: Path) -> None:
    steps = StepRunner(tmp_path)
    steps.environment["KAFKA_PARETO_CLIENT_JARS"] = str(clients)
    protocol = {"repetitions": 4, "seconds": 1.0}
    protocol |= {"paced": {"rate_records_s": 500, "warmup_seconds": 0.5, "seconds": 2.0}}
    workload = {"topic_partitions": 1, "replication_factor": 1, "min_insync_replicas": 1}
    testbed = {"brokers": 1, "heap_mib": 256}
    steps.write_study("client_upgrade", "client_upgrade", protocol=protocol, workload=workload, testbed=testbed)
    steps.manifest("design", "client_upgrade")
    steps.manifest("measure", "client_upgrade", "--case", "client")

    found: dict[object, list[float]] = {}
    for each in steps.campaign("client_upgrade").read_measurements(["client"], [0]):
        if each.outcome == "valid":
            found.setdefault(each.configuration["client"], []).append(each.number("latency_p50_ms") or 0)
    # At this rate the records of a batch wait 5, 3 and 1 ms.
    assert 1.5 < median(found["bundled"]) - median(found["3.9.1"]) < 6
