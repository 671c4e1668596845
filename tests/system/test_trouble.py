"""Trouble that a real cluster makes: quotas, disks, refusals; what the measure step says, does and keeps."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.exit_codes import EXIT_BAD_INPUT
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.settings import load_settings
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import StepRunner

pytestmark = [pytest.mark.brokers, pytest.mark.long]

ONE_BROKER = {"replication_factor": 1, "min_insync_replicas": 1}
MEASURE = ("measure", "tiny", "--case", "1000")


@contextmanager
def quota(brokers: RunningBrokers, bytes_per_s: int) -> Iterator[None]:
    """A produce quota for every client, as an administrator sets it; taken away at the end."""

    def alter(*change: str) -> None:
        subprocess.run(
            [
                *(brokers.settings.java, "-Xmx128m", "-cp", f"{brokers.settings.kafka_jars}/*"),
                *("kafka.admin.ConfigCommand", "--bootstrap-server", brokers.bootstrap_servers, "--alter"),
                *("--entity-type", "clients", "--entity-default", *change),
            ],
            env=java_environment(),
            capture_output=True,
            timeout=60,
            check=True,
        )

    alter("--add-config", f"producer_byte_rate={bytes_per_s}")
    try:
        yield
    finally:
        alter("--delete-config", "producer_byte_rate")


def test_a_quota_that_throttles_stops_the_campaign_and_the_block_is_measured_again_without_it(
    tmp_path: Path, single_broker: RunningBrokers
) -> None:
    steps = StepRunner(tmp_path, single_broker)
    steps.write_study("tiny", record_sizes_bytes=[1000], workload=ONE_BROKER, design={"configurations": 1})
    steps.manifest("design", "tiny")
    with quota(single_broker, 80_000):
        stopped = steps.run(*MEASURE)
    campaign = steps.campaign("tiny")
    (aside,) = campaign.read_repetitions(campaign.keys.discarded(1000))

    assert stopped.returncode == EXIT_BAD_INPUT
    assert "a quota of the cluster throttled the load by up to" in stopped.stderr
    assert aside.outcome == "failed"
    assert aside.number("produce_throttle_max_ms")
    assert steps.manifest(*MEASURE)["counts"]["repetitions_valid"] == 4


def test_a_disk_that_fills_up_is_waited_for_before_the_next_block(small_volume: Path, tmp_path: Path) -> None:
    with Brokers(1, load_settings(), folder=small_volume / "broker") as brokers:
        steps = StepRunner(tmp_path, brokers)
        steps.write_study("tiny", record_sizes_bytes=[1000], workload=ONE_BROKER, design={"configurations": 3})
        steps.manifest("design", "tiny")
        filler = small_volume / "filler"
        free_bytes = shutil.disk_usage(small_volume).free
        filler.write_bytes(bytes(free_bytes - 3_500_000))  # a block sends 4,000,000
        step = steps.start(*MEASURE)
        assert step.stdout is not None
        waiting = next(line for line in step.stdout if "waiting up to" in line)
        filler.unlink()
        output, errors = step.communicate(timeout=200)

    assert "is nearly full: 3." in waiting
    assert "MiB are free, but up to 3.8 MiB may be written" in waiting
    assert step.returncode == 0, output + errors
    assert "the cluster has recovered" in output


def test_more_failures_than_tolerated_stop_the_campaign_with_a_table_of_failures_and_reasons(
    tmp_path: Path, single_broker: RunningBrokers
) -> None:
    steps = StepRunner(tmp_path, single_broker)
    steps.write_study("tiny", record_sizes_bytes=[1000], workload=ONE_BROKER, protocol={"repetitions": 10})
    study = steps.studies / "tiny.yaml"
    content = yaml.safe_load(study.read_text())
    content["factors"] = {"max.request.size": {"type": "integer", "levels": [500, 1048576]}}
    content |= {"constraints": [], "design": {"configurations": 1, "feasible": False}}
    study.write_text(yaml.safe_dump(content))
    steps.manifest("design", "tiny")
    stopped = steps.run(*MEASURE)
    campaign = steps.campaign("tiny")
    stored = campaign.read_repetitions(campaign.keys.measurements(1000))
    failed = [r for r in stored if r.outcome == "failed"]

    assert stopped.returncode == EXIT_BAD_INPUT
    assert "2 of 20 planned repetitions failed; the study tolerates 5.0 %" in stopped.stderr
    assert len(failed) == 2
    assert all(f"{r.repetition_id}  1         max.request.size=500" in stopped.stderr for r in failed)
    assert all("RecordTooLargeException" in r.reason for r in failed)
    assert len(stored) < 20
