"""`kafka-pareto run --local`: a full campaign in one process on an existing cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.exit_codes import EXIT_NO_CONSENT
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.small_quick import small_quick
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

STUDY = small_quick() | {
    "name": "mine",
    "record_sizes_bytes": [1024],
    "workload": {"topic_partitions": 1, "replication_factor": 1, "min_insync_replicas": 1},
}


@pytest.fixture
def command(single_broker: RunningBrokers, tmp_path: Path) -> list[str]:
    """The command that runs a user's study file; without consent."""
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(STUDY))
    ceilings = ["--ceiling-mib-s", "50", "--ceiling-gib", "1"]
    kafka = ["--kafka", single_broker.bootstrap_servers]
    return [sys.executable, "-m", "kafka_pareto_cli", "run", "mine.yaml", "--local", *kafka, *ceilings]


def environment(broker: RunningBrokers) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "PYTHONPATH": f"{ROOT / 'include'}", "KAFKA_PARETO_KAFKA_JARS": str(broker.settings.kafka_jars)}


def test_a_study_of_ones_own_is_killed_resumed_and_answered(
    command: list[str], single_broker: RunningBrokers, tmp_path: Path
) -> None:
    calling = {"cwd": tmp_path, "env": environment(single_broker), "text": True}
    store = FolderStore(tmp_path / "kafka-pareto-store")

    def measured() -> list[str]:
        return [key for key in store.keys("mine/") if key.endswith(".json") and "b000" in key]

    first = subprocess.Popen([*command, "--yes"], **calling, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # type: ignore[call-overload]
    wait_until("two repetitions are stored", lambda: len(measured()) > 1, 120)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=30)
    before = {key: store.get(key) for key in measured()}
    (campaign_id,) = store.folders("mine/")

    resumed = [*command[:6], "--campaign", campaign_id]
    done = subprocess.run(resumed, **calling, capture_output=True, timeout=400, check=False)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    assert "measure (1,024 B)" in done.stdout
    assert "\nsize     decision  throughput [MiB/s]" in done.stdout
    assert f"\n{'=' * 80}\n1,024 B" in done.stdout, "the answer of a single case is followed by its card"
    assert "\nFiles   " in done.stdout
    assert all(store.get(key) == content for key, content in before.items())
    campaign = Campaign.open(store, "mine", campaign_id)
    assert store.tag(campaign.keys.report("report.html")) is not None

    shown = [sys.executable, "-m", "kafka_pareto_cli", "result", "mine", "--store", "kafka-pareto-store", "--cards"]
    cards = subprocess.run(shown, **calling, capture_output=True, timeout=60, check=True).stdout  # type: ignore[call-overload]
    assert cards == store.get(campaign.keys.report("cards.txt")).decode().rstrip() + "\n"


def test_without_consent_the_plan_is_shown_and_nothing_is_stored_or_sent(
    command: list[str], single_broker: RunningBrokers, tmp_path: Path
) -> None:
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(single_broker),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == EXIT_NO_CONSENT
    assert f"{single_broker.bootstrap_servers}, at most 50 MiB/s and 1 GiB" in done.stdout
    assert "Repetitions" in done.stdout
    assert "run the same command with --yes" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.yaml"]
