"""Shows on a real cluster that a campaign has to beat the active settings, in the same blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.decision.decision import Decision
from kafka_pareto.rollout.versions import ActiveSettings, versions
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.factors import configuration_id
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns, stack_runs
from tests.stack.contested_study import CASE, STUDY, write_contested_study
from tests.stack.embedded_stack import EmbeddedStack

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.long, pytest.mark.timeout(1500)]

IN_FORCE_BYTES, WORSE_BYTES, BETTER_BYTES = 16384, 4096, 262144


@dataclass
class Story:
    """Three campaigns, one after the other: each may choose one `batch.size`."""

    store: Store

    def decision(self, campaign: str) -> Decision:
        found = Campaign.open(self.store, STUDY, campaign)
        return found.read_record(found.keys.confirmation(CASE, "decision.json"), Decision)

    @property
    def versions(self) -> list[ActiveSettings]:
        return versions(self.store, STUDY, CASE)


@pytest.fixture(scope="module")
def story(stack: EmbeddedStack) -> Story:
    for campaign, batch_bytes in (("first", IN_FORCE_BYTES), ("worse", WORSE_BYTES), ("better", BETTER_BYTES)):
        write_contested_study(Path(stack.environment["KAFKA_PARETO_STUDIES"]), batch_bytes)
        with stack_runs(stack.stack, "tune_producer") as runs:
            runs.trigger(f"contested_{campaign}", {"study": STUDY, "campaign": campaign})
            _wait_until_ended(runs, f"contested_{campaign}")
    return Story(open_store(stack.stack.settings()))


def _wait_until_ended(runs: AirflowRuns, run_id: str) -> None:
    wait_until("it has ended", lambda: runs.state(run_id) in ("success", "failed"), 600, poll_s=1)
    assert runs.state(run_id) == "success", {task.task_id: task.state for task in runs.tasks(run_id)}


def test_the_first_recommendation_becomes_active_against_the_baseline(story: Story) -> None:
    first = story.decision("first")
    assert (first.verdict, first.in_force, first.newest_version) == ("recommended", None, 0)
    assert story.versions[0].configuration["batch.size"] == IN_FORCE_BYTES


def test_a_campaign_better_than_the_defaults_but_not_than_version_1_keeps_version_1_active(
    story: Story,
) -> None:
    worse = story.decision("worse")
    assert worse.in_force is not None
    assert worse.in_force.version == 1
    assert worse.verdict in ("keep_no_gain", "keep_harmed")
    assert worse.recommended_configuration_id == configuration_id(story.versions[0].configuration)
    assert [each.campaign for each in story.versions] == ["first", "better"]


def test_a_better_campaign_replaces_version_1_and_names_its_reference(story: Story) -> None:
    better, newest = story.decision("better"), story.versions[-1]
    assert (better.verdict, newest.version, newest.compared_with_version) == ("recommended", 2, 1)
    assert newest.configuration["batch.size"] == BETTER_BYTES
    p95 = next(gain for gain in newest.gains if gain.objective == "p95_latency_ms")
    over_baseline = next(gain for gain in newest.gains_over_baseline if gain.objective == "p95_latency_ms")
    assert p95.change_fraction is not None
    assert over_baseline.change_fraction is not None
    assert over_baseline.change_fraction < p95.change_fraction < 0
