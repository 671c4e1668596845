"""The check of the active settings, on the embedded stack: it holds; then the brokers are changed, and it is tuned."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drift.check_records import PastCheck, read_checks
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.rollout.versions import ActiveSettings, versions
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.runs.airflow_runs import stack_runs
from tests.stack.embedded_stack import EmbeddedStack

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.long, pytest.mark.timeout(1500)]

STUDY, CASE = "drifting", "1024"
BROKERS = ("kafka-1", "kafka-2", "kafka-3")
# A follower gets new records only when 60 ms have passed, as over a slow link. The baseline waits for that at each
# record, settings that send batches a few times. It is a matter of timers, not of disks or CPUs.
CHANGE = "replica.fetch.min.bytes=1073741824\nreplica.fetch.wait.max.ms=60\n"


@dataclass
class Story:
    """The actions on the stack in order, with their durations."""

    store: Store
    seconds: dict[str, float] = field(default_factory=dict)
    tasks: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def checks(self) -> list[PastCheck]:
        return read_checks(self.store, STUDY, CASE)

    @property
    def versions(self) -> list[ActiveSettings]:
        return versions(self.store, STUDY, CASE)


@pytest.fixture(scope="module")
def story(stack: EmbeddedStack) -> Story:
    told = Story(open_store(stack.stack.settings()))
    _run(told, stack, "tune_producer", "tuned", {"study": STUDY, "campaign": "first"})
    _run(told, stack, "retune_producer", "holds", {"study": STUDY})
    with _changed_brokers(stack, CHANGE):
        _run(told, stack, "retune_producer", "drifts", {"study": STUDY})
        for check in told.checks:
            print(check.model_dump_json(indent=1))
        assert told.tasks["drifts"]["tune"] == "success", "nothing is tuned again: see the checks above"
        _ended(told, stack, "tune_producer", "retune__retune_producer__drifts")
    print({name: round(seconds) for name, seconds in told.seconds.items()})
    return told


def test_the_first_campaigns_recommendation_is_active(story: Story) -> None:
    assert story.versions[0].campaign == "first"
    assert story.versions[0].came_by == "recommended"


def test_on_the_unchanged_cluster_the_active_settings_hold_and_nothing_is_tuned(story: Story) -> None:
    assert story.checks[0].outcome == "unchanged"
    assert story.checks[0].compared_with == "campaign first"
    assert story.tasks["holds"]["tune"] == "skipped"


def test_on_brokers_that_were_changed_the_drift_is_found(story: Story) -> None:
    assert story.checks[1].outcome == "drifted"
    assert story.checks[1].change_point
    assert any(change.drifted for change in story.checks[1].changes)


def test_the_following_tuning_compares_with_the_active_settings(story: Story) -> None:
    tuned = Campaign.open(story.store, STUDY, story.checks[1].check)
    decision = tuned.read_record(tuned.keys.confirmation(CASE, "decision.json"), Decision)
    assert decision.in_force is not None
    assert decision.in_force.version == 1
    campaigns = [each.campaign for each in story.versions]
    assert campaigns == (["first", tuned.keys.campaign] if decision.recommended else ["first"])


def _run(told: Story, stack: EmbeddedStack, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
    with stack_runs(stack.stack, dag_id) as runs:
        runs.trigger(run_id, conf)
    _ended(told, stack, dag_id, run_id)


def _ended(told: Story, stack: EmbeddedStack, dag_id: str, run_id: str) -> None:
    began = time.monotonic()
    with stack_runs(stack.stack, dag_id) as runs:
        wait_until(f"{run_id} has ended", lambda: runs.state(run_id) in ("success", "failed"), 600, poll_s=1)
        told.seconds[run_id] = time.monotonic() - began
        told.tasks[run_id] = {task.task_id: task.state for task in runs.tasks(run_id)}
        state = runs.state(run_id)
    assert state == "success", told.tasks[run_id]


@contextmanager
def _changed_brokers(stack: EmbeddedStack, change: str) -> Iterator[None]:
    """The cluster, restarted with other properties; nothing that is stored is touched."""
    files = [stack.state / "brokers" / name / "server.properties" for name in BROKERS]
    originals = [file.read_text() for file in files]
    for file, original in zip(files, originals, strict=True):
        file.write_text(original + change)
    _restart_brokers(stack)
    try:
        yield
    finally:
        for file, original in zip(files, originals, strict=True):
            file.write_text(original)
        _restart_brokers(stack)


def _restart_brokers(stack: EmbeddedStack) -> None:
    before = stack.pids()
    for name in BROKERS:
        psutil.Process(before[name]).kill()
    wait_until(
        "all brokers were started again",
        lambda: all(stack.pids().get(name, before[name]) != before[name] for name in BROKERS),
        60,
    )
    with Cluster(stack.stack.bootstrap_servers, None, stack.stack.settings()) as cluster:
        wait_until("all brokers are members", lambda: _members(cluster) == len(BROKERS), 120)


def _members(cluster: Cluster) -> int:
    with suppress(ClusterError):
        return len(cluster.describe().brokers)
    return 0
