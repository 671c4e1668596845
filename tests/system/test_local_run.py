"""`kafka-pareto run --local`: a full campaign in one process on an existing cluster."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.exit_codes import EXIT_NO_CONSENT
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.recorded import STUDIES
from tests.small_quick import small_quick
from tests.system.broker_fixtures import RunningBrokers
from tests.system.steps import ROOT

pytestmark = [pytest.mark.brokers, pytest.mark.studies]

STUDY = small_quick() | {
    "name": "mine",
    "record_sizes_bytes": [1024],
    "workload": {"topic_partitions": 1, "replication_factor": 1, "min_insync_replicas": 1},
}


# Also tunes for what is stored.
OF_LIBRDKAFKA = yaml.safe_load((STUDIES / "librdkafka.yaml").read_text(encoding="utf-8")) | {
    "name": "mine",
    "workload": STUDY["workload"],
    "objectives": ["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv", "stored_bytes_per_record"],
    "design": {"configurations": 4, "feasible": True},
    "strategy": "one_shot",
    "rounds": {},
    "confirmation": {"points": 2, "choice_blocks": 2, "gain_blocks": 5, "minimum_blocks": 3},
}
OF_LIBRDKAFKA["protocol"] |= {
    "warmup_seconds": 0.2,
    "seconds": 2.0,
    "paced": {"rate_records_s": 1000, "warmup_seconds": 0.2, "seconds": 2.0},
    "noise_repetitions": 0,
}


@pytest.fixture
def command(single_broker: RunningBrokers, tmp_path: Path) -> list[str]:
    """The command that runs a user's study file; without consent."""
    return command_for(STUDY, single_broker, tmp_path, ["--ceiling-mib-s", "50", "--ceiling-gib", "1"])


def command_for(study: dict[str, Any], broker: RunningBrokers, folder: Path, ceilings: list[str]) -> list[str]:
    (folder / "mine.yaml").write_text(yaml.safe_dump(study))
    kafka = ["--kafka", broker.bootstrap_servers]
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


def test_a_producer_of_librdkafka_is_tuned_for_its_stored_size_too(
    single_broker: RunningBrokers, tmp_path: Path
) -> None:
    run = command_for(OF_LIBRDKAFKA, single_broker, tmp_path, ["--ceiling-mib-s", "50", "--ceiling-gib", "20"])
    calling = {"cwd": tmp_path, "env": environment(single_broker), "text": True, "capture_output": True}
    done = subprocess.run([*run, "--yes"], **calling, timeout=500, check=False)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr

    store = FolderStore(tmp_path / "kafka-pareto-store")
    (campaign_id,) = store.folders("mine/")
    campaign = Campaign.open(store, "mine", campaign_id)
    cards = store.get(campaign.keys.report("cards.txt")).decode()
    assert "queue.buffering.max.messages" in cards
    best = store.get(campaign.keys.report("tables/table2_best_per_objective.csv")).decode()
    assert "\n1024,stored_bytes_per_record," in best
    if re.search(r"^  Measured ", cards, re.MULTILINE):  # else no configuration was picked
        assert re.search(r"^  stored size +[0-9]", cards, re.MULTILINE), cards
    measured = [each for each in campaign.read_measurements(["1024"], [0]) if each.outcome == "valid"]
    assert len(measured) > 4
    for each in measured:
        is_plain = each.configuration["compression.type"] == "none"
        assert (1000 if is_plain else 100) < (each.number("stored_bytes_per_record") or 0) < 1200
        assert 0 < (each.number("requests_per_thousand_records") or 0) <= 1000
        assert 0 < (each.number("client_cpu_s_per_million_records") or 0) < 1000


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
