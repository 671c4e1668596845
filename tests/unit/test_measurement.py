"""What a measurement believes, retries, keeps and never does twice; on the seeded fake, with a real store and lease."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from kafka_pareto.artifacts import DESIGN_COLUMNS, CampaignKeys, Fingerprint, Repetition
from kafka_pareto.campaign import Campaign
from kafka_pareto.design import design_table
from kafka_pareto.errors import BadInputError, LeaseHeldError, LoadToolError, SafetyStop
from kafka_pareto.load import LoadRequest, LoadResult
from kafka_pareto.steps import measure
from kafka_pareto.store import FolderStore
from kafka_pareto.study import Study
from kafka_pareto.study_file import load_study, parse_study
from kafka_pareto.testbed import Testbed, keep_fingerprint
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

SIZE = 8192
PLANNED = 6 * 2


def started(folder: Path, study: Study | None = None) -> Campaign:
    study = study or load_study(STUDIES / "quick.yaml")
    campaign = Campaign(study, CampaignKeys(study.name, "c1"), FolderStore(folder))
    campaign.write_table(campaign.keys.design(), design_table(study), DESIGN_COLUMNS)
    return campaign


def repetitions(campaign: Campaign) -> list[Repetition]:
    return campaign.read_repetitions(campaign.keys.measurements(SIZE))


def fakes(testbed: Testbed) -> tuple[FakeCluster, FakeLoadTool]:
    assert isinstance(testbed.cluster, FakeCluster)
    assert isinstance(testbed.load_tool, FakeLoadTool)
    return testbed.cluster, testbed.load_tool


def test_measures_every_planned_repetition_once_and_the_baseline_in_every_block(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        manifest = measure.run(campaign, SIZE, testbed)

    found = repetitions(campaign)
    assert len({repetition.repetition_id for repetition in found}) == len(found) == PLANNED
    assert sorted(r.block for r in found if r.is_baseline) == [0, 1]
    assert manifest.counts["repetitions_valid"] == PLANNED


def test_a_killed_task_goes_on_where_it_stopped_and_ends_with_the_same_repetitions(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        _, tool = fakes(testbed)

        def die_at_the_seventh(_: LoadRequest) -> None:
            if len(tool.requests) == 7:
                raise KeyboardInterrupt

        tool.before_run = die_at_the_seventh
        with pytest.raises(KeyboardInterrupt):
            measure.run(campaign, SIZE, testbed)
    first = {repetition.repetition_id: repetition for repetition in repetitions(campaign)}
    with fake_testbed(campaign, SIZE) as testbed:
        measure.run(campaign, SIZE, testbed)
        assert len(fakes(testbed)[1].requests) == PLANNED - 6

    after = {repetition.repetition_id: repetition for repetition in repetitions(campaign)}
    assert len(first) == 6
    assert len(after) == PLANNED
    assert all(after[name] == repetition for name, repetition in first.items())


def test_records_that_are_not_in_the_topic_are_an_outcome_that_is_kept(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        fakes(testbed)[1].lost_records = 3
        measure.run(campaign, SIZE, testbed)

    found = repetitions(campaign)
    assert {r.outcome for r in found} == {"records_lost"}
    assert found[0].reason == "3 of 1000 records counted as sent are not in the topic"
    assert all(r.attempts == 1 for r in found)


def test_more_records_than_were_sent_are_duplicates(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        fakes(testbed)[1].lost_records = -2
        measure.run(campaign, SIZE, testbed)

    assert {r.outcome for r in repetitions(campaign)} == {"records_duplicated"}


def test_a_failing_tool_is_tried_a_bounded_number_of_times_and_the_failure_is_kept(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        _, tool = fakes(testbed)

        def fail_twice_then_always_for_acks_0(request: LoadRequest) -> None:
            if len(tool.requests) <= 2 or request.properties["acks"] == "0":
                raise LoadToolError("the machine hiccuped")

        tool.before_run = fail_twice_then_always_for_acks_0
        measure.run(campaign, SIZE, testbed)

    found = repetitions(campaign)
    failed = [r for r in found if r.configuration["acks"] == "0"]
    assert len(found) == PLANNED
    assert failed
    assert {(r.outcome, r.attempts, r.reason) for r in failed} == {("failed", 3, "the machine hiccuped")}
    others = [r.attempts for r in found if r.configuration["acks"] != "0"]
    assert all(attempts in (1, 2, 3) for attempts in others)
    assert {r.outcome for r in found if r.configuration["acks"] != "0"} == {"valid"}


def test_a_leader_that_moved_spoils_the_repetition_which_is_measured_again(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        cluster, tool = fakes(testbed)

        def move_a_leader_once(_: LoadRequest) -> None:
            if len(tool.requests) == 4:
                cluster.leaders = [2, 2, 3]

        tool.before_run = move_a_leader_once
        measure.run(campaign, SIZE, testbed)

    attempts = [r.attempts for r in repetitions(campaign)]
    assert sorted(attempts) == [1] * (PLANNED - 1) + [2]
    assert {r.outcome for r in repetitions(campaign)} == {"valid"}


def test_steady_repetitions_are_sized_by_the_baselines_pace_and_read_the_steady_state_line(tmp_path: Path):
    content = yaml.safe_load((STUDIES / "quick.yaml").read_text())
    content["protocol"] = {"kind": "steady", "seconds": 4.0, "warmup_seconds": 2.0, "repetitions": 2}
    campaign = started(tmp_path, parse_study(yaml.safe_dump(content), "steady quick"))
    with fake_testbed(campaign, SIZE) as testbed:
        measure.run(campaign, SIZE, testbed)
        requests = fakes(testbed)[1].requests

    pilot, first = requests[0], requests[1]
    assert pilot.warmup_records == pilot.records // 4
    assert first.warmup_records == pytest.approx(first.records / 3, abs=1)
    assert {r.window for r in repetitions(campaign)} == {"steady_state"}
    assert {request.records for request in requests[1:]} == {first.records}


def foreign(folder: Path, ceiling_gib: float = 9.0) -> Campaign:
    content = yaml.safe_load((STUDIES / "quick.yaml").read_text())
    content["cluster"] = {
        "bootstrap_servers": "b:9092",
        "ceiling_mib_s": 4.0,
        "ceiling_gib": ceiling_gib,
        "consent": True,
    }
    return started(folder, parse_study(yaml.safe_dump(content), "foreign quick"))


def test_on_a_foreign_cluster_the_ceiling_limits_every_load(tmp_path: Path):
    campaign = foreign(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        measure.run(campaign, SIZE, testbed)
        requests = fakes(testbed)[1].requests

    assert {request.throughput_records_s for request in requests} == {4.0 * 1024 * 1024 / SIZE}


def test_on_a_foreign_cluster_a_shrinking_isr_stops_the_campaign_at_once(tmp_path: Path):
    campaign = foreign(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        cluster, tool = fakes(testbed)

        def lose_a_replica(_: LoadRequest) -> None:
            cluster.in_sync = 2 if len(tool.requests) == 5 else 3

        tool.before_run = lose_a_replica
        with pytest.raises(SafetyStop, match="replica out of sync"):
            measure.run(campaign, SIZE, testbed)

    assert len(repetitions(campaign)) == 4


def test_on_a_foreign_cluster_trouble_seen_after_the_load_stops_the_campaign_too(tmp_path: Path):
    campaign = foreign(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        cluster, tool = fakes(testbed)
        run = tool.run

        def run_then_lose_a_replica(request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
            result = run(request, watch)
            cluster.in_sync = 2
            return result

        tool.run = run_then_lose_a_replica
        with pytest.raises(SafetyStop, match="after a load the cluster was in trouble"):
            measure.run(campaign, SIZE, testbed)
        assert len(tool.requests) == 1


def test_a_campaign_on_a_foreign_cluster_stops_at_its_ceiling_repeated_attempts_included(tmp_path: Path):
    campaign = foreign(tmp_path, ceiling_gib=5 * 1000 * SIZE / (1 << 30))
    with fake_testbed(campaign, SIZE) as testbed:
        _, tool = fakes(testbed)

        def fail_the_second(_: LoadRequest) -> None:
            if len(tool.requests) == 2:
                raise LoadToolError("the machine hiccuped")

        tool.before_run = fail_the_second
        with pytest.raises(SafetyStop, match="has sent as much as it may"):
            measure.run(campaign, SIZE, testbed)
        assert len(tool.requests) == 5
    assert len(repetitions(campaign)) == 4


def test_a_lease_lost_during_a_load_gives_no_repetition(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        _, tool = fakes(testbed)

        def lose_the_lease(_: LoadRequest) -> None:
            testbed.lease.__exit__(None, None, None)

        tool.before_run = lose_the_lease
        with pytest.raises(LeaseHeldError):
            measure.run(campaign, SIZE, testbed)
    assert repetitions(campaign) == []


def test_a_campaign_does_not_go_on_on_another_cluster(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        measure.run(campaign, SIZE, testbed)
        known = campaign.read_record(campaign.keys.fingerprint(SIZE), Fingerprint)

    with pytest.raises(BadInputError, match="cluster_id: the campaign was begun on fake, this is another"):
        keep_fingerprint(campaign, SIZE, known.model_copy(update={"cluster_id": "another"}))


def test_records_are_deleted_as_blocks_end(tmp_path: Path):
    campaign = started(tmp_path)
    with fake_testbed(campaign, SIZE) as testbed:
        measure.run(campaign, SIZE, testbed)
        assert len(fakes(testbed)[0].deletions) == 2
