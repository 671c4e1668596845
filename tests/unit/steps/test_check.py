from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.analysis.drift import Ratio, change_between
from kafka_pareto.campaign.keys import CheckKeys, InForceKeys
from kafka_pareto.campaign.records import Sizing
from kafka_pareto.drift.check_records import CheckPlan, read_checks
from kafka_pareto.drift.messages import drift_reason
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.runner import ProducerRunner
from kafka_pareto.errors import BadInputError, PlanError
from kafka_pareto.kafka.cluster import ClusterDescription
from kafka_pareto.rollout.versions import file_of
from kafka_pareto.steps import check_compare, check_measure
from kafka_pareto.storage.folder_store import FolderStore
from tests.fakes import FakeCluster, FakeLoadTool, fake_testbed
from tests.unit.checking import (
    WINNER,
    WINNER_ID,
    activate,
    begin,
    checked,
    confirmed,
    measure,
    opened,
    outcome,
    slower,
    study_of,
    tuned,
)
from tests.unit.measuring import CASE, LIMITS

pytestmark = pytest.mark.fast


class UpgradedCluster(FakeCluster):
    def describe(self) -> ClusterDescription:
        return super().describe().model_copy(update={"kafka_version": "4.4"})


def test_without_active_settings_nothing_is_measured_or_tuned(tmp_path: Path, caplog):
    caplog.set_level("INFO")
    assert begin(tmp_path, "k1") == []
    assert "no settings are active for study quick yet" in caplog.text
    manifest = check_compare.run(opened(tmp_path, "k1"))
    assert (manifest.cases, manifest.event) == ([], {})
    assert manifest.notice is not None
    assert manifest.notice.kind == "unchanged"
    assert "no settings are active" in manifest.notice.subject


@pytest.mark.slow
def test_an_unchanged_cluster_is_compared_with_the_campaign_that_confirmed_it_and_not_tuned_again(tmp_path: Path):
    activate(confirmed(tmp_path))
    found = checked(tmp_path, "k1")
    assert (found.outcome, found.tune, found.compared_with, found.version) == ("unchanged", False, "campaign c1", 1)
    assert [change.objective for change in found.changes] == ["p95_latency_ms", "throughput_mib_s"]
    assert all(change.found and change.found.blocks == 6 for change in found.changes)


def test_a_check_writes_files_of_the_checked_settings_missing_after_a_killed_writer(tmp_path: Path):
    settings = activate(confirmed(tmp_path))
    begin(tmp_path, "k1")
    stored = FolderStore(tmp_path).get(InForceKeys("quick", CASE).file("producer.properties")).decode()
    assert stored == file_of(settings, "producer.properties")


def test_a_slower_machine_is_not_drift(tmp_path: Path):
    activate(confirmed(tmp_path))
    assert checked(tmp_path, "k1", slower(0.6, winner_alone=False)).outcome == "unchanged"


@pytest.mark.slow
def test_a_gain_that_shrank_is_drift_and_is_tuned_again_under_the_checks_id(tmp_path: Path):
    activate(confirmed(tmp_path))
    found = checked(tmp_path, "k1", slower(0.5))
    assert (found.outcome, found.tune) == ("drifted", True)
    assert [change.objective for change in found.changes if change.drifted] == ["throughput_mib_s"]
    manifest = check_compare.run(opened(tmp_path, "k1"))
    assert manifest.cases == [CASE]
    assert manifest.event["tune"] == {
        "study": "quick",
        "campaign": "k1",
        "record_sizes": [int(CASE)],
        "approval": False,
    }
    assert manifest.notice is not None
    assert manifest.notice.kind == "drift"
    assert "throughput: active / baseline" in manifest.notice.text


@pytest.mark.slow
def test_a_study_in_rounds_is_tuned_again_with_known_trials_and_asks_for_approval_if_configured(tmp_path: Path):
    study = study_of(strategy="rounds", retune={"blocks": 6, "approval": True})
    activate(confirmed(tmp_path, study))
    checked(tmp_path, "k1", slower(0.5), study)
    tune = check_compare.run(opened(tmp_path, "k1")).event["tune"]
    assert isinstance(tune, dict)
    assert (tune["warm_start"], tune["approval"]) == ("latest", True)


@pytest.mark.slow
def test_a_drift_that_was_answered_is_not_found_again_as_long_as_nothing_else_changes(tmp_path: Path):
    activate(confirmed(tmp_path))
    checked(tmp_path, "k1", slower(0.5))
    again = checked(tmp_path, "k2", slower(0.5))
    assert (again.outcome, again.compared_with) == ("drifted", "campaign c1"), "no tuning has ended yet"
    tuned(tmp_path, "k2")
    second = checked(tmp_path, "k3", slower(0.5))
    assert (second.outcome, second.compared_with) == ("unchanged", "check k2")
    assert checked(tmp_path, "k4", slower(0.2)).outcome == "drifted"


@pytest.mark.slow
def test_new_active_settings_are_compared_with_their_own_campaign(tmp_path: Path):
    activate(confirmed(tmp_path))
    checked(tmp_path, "k1", slower(0.5))
    activate(confirmed(tmp_path, campaign_id="c2"), version=2)
    found = checked(tmp_path, "k2")
    assert (found.outcome, found.compared_with, found.version) == ("unchanged", "campaign c2", 2)


@pytest.mark.slow
def test_settings_without_gain_blocks_are_compared_with_their_first_check(tmp_path: Path):
    activate(confirmed(tmp_path, gain_blocks=False), came_by="picked")
    first = checked(tmp_path, "k1")
    assert (first.outcome, first.compared_with) == ("reference", "")
    second = checked(tmp_path, "k2")
    assert (second.outcome, second.compared_with) == ("unchanged", "check k1")
    assert checked(tmp_path, "k3", slower(0.5)).outcome == "drifted"


@pytest.mark.slow
def test_lost_records_are_drift_whatever_the_speed(tmp_path: Path):
    activate(confirmed(tmp_path))

    def spoil(tool: FakeLoadTool) -> None:
        def lose(request: LoadRequest) -> None:
            tool.lost_records = int(request.properties["batch.size"] == 131072 and len(tool.requests) < 4)

        tool.before_run = lose

    found = checked(tmp_path, "k1", spoil)
    assert (found.outcome, found.tune) == ("drifted", True)
    assert "records were lost or duplicated" in found.reasons[0]
    assert not any(change.drifted for change in found.changes)


@pytest.mark.slow
@pytest.mark.parametrize(("cases", "expected"), [(1, "drifted"), (2, "unchanged")])
def test_disruptions_are_drift_at_the_level_that_the_measured_cases_share(tmp_path: Path, cases: int, expected: str):
    activate(confirmed(tmp_path))
    begin(tmp_path, "k1")
    begun = opened(tmp_path, "k1")
    with fake_testbed(begun, CASE) as testbed:
        tool, cluster = testbed.load_tool, testbed.cluster
        assert isinstance(tool, FakeLoadTool)
        assert isinstance(cluster, FakeCluster)

        def move_a_leader_at_the_winners_first_attempts(request: LoadRequest) -> None:
            attempts = sum(each.properties["batch.size"] == WINNER["batch.size"] for each in tool.requests)
            if request.properties["batch.size"] == WINNER["batch.size"] and attempts % 2:
                cluster.leaders = [*cluster.leaders[1:], cluster.leaders[0]]

        tool.before_run = move_a_leader_at_the_winners_first_attempts
        check_measure.run(begun, CASE, ProducerRunner(begun, CASE, testbed, LIMITS))
    (plan,) = begun.read_record(begun.keys.plan(), CheckPlan).cases
    assert plan.settings is not None
    other = {"case": "65636", "settings": plan.settings.model_copy(update={"case": "65636"})}
    begun.write_record(begun.keys.plan(), CheckPlan(cases=[plan, plan.model_copy(update=other)][:cases]))
    found = outcome(tmp_path, "k1")
    assert found.outcome == expected  # Fisher's p-value is 0.0498
    reasons = ["6 attempts failed or disrupted the cluster, versus 0 for the baseline"]
    assert found.reasons == (reasons if expected == "drifted" else [])


def test_a_change_without_spread_is_reported_as_not_tested():
    still = Ratio(ratio=1.0, low=None, high=None, blocks=5, log_ratio=0.0, log_deviation=0.0)
    change = change_between("throughput_mib_s", still, still, 0.1)
    assert drift_reason(change).endswith(", not tested")


def activate_baseline(tmp_path: Path) -> None:
    study = study_of()
    baseline = study.baseline_configuration()
    properties = study.properties(baseline)
    activate(confirmed(tmp_path), is_baseline=True, configuration=dict(baseline), properties=properties)


def test_an_active_baseline_has_nothing_to_be_compared_with(tmp_path: Path):
    activate_baseline(tmp_path)
    assert begin(tmp_path, "k1") == []
    assert outcome(tmp_path, "k1").outcome == "baseline_in_force"


def test_active_settings_that_became_the_studys_baseline_are_not_compared_with_themselves(tmp_path: Path):
    settings = activate(confirmed(tmp_path))
    adopted = study_of(baseline=settings.properties)
    assert begin(tmp_path, "k1", adopted) == []
    assert outcome(tmp_path, "k1").outcome == "baseline_in_force"


def test_a_baseline_that_spells_out_defaults_is_the_same(tmp_path: Path):
    activate_baseline(tmp_path)
    spelled_out = {**study_of().baseline, "acks": "-1", "max.request.size": 1_048_576}
    assert begin(tmp_path, "k1", study_of(baseline=spelled_out)) == []
    assert outcome(tmp_path, "k1").outcome == "baseline_in_force"


def test_a_baseline_that_is_no_longer_the_studys_is_tuned_again(tmp_path: Path):
    activate_baseline(tmp_path)
    assert begin(tmp_path, "k1", study_of(baseline={"acks": "all", "linger.ms": 50})) == []
    assert outcome(tmp_path, "k1").outcome == "not_comparable"


def test_another_kafka_is_tuned_again_without_measuring_and_once_only(tmp_path: Path):
    activate(confirmed(tmp_path))
    assert begin(tmp_path, "k1", cluster=UpgradedCluster()) == []
    found = outcome(tmp_path, "k1")
    assert (found.outcome, found.tune) == ("not_comparable", True)
    assert found.reasons == ["fingerprint.kafka_version: 4.3 then, 4.4 now"]
    assert begin(tmp_path, "k2", cluster=UpgradedCluster()) == [], "no tuning has ended yet"
    assert outcome(tmp_path, "k2").outcome == "not_comparable"
    tuned(tmp_path, "k2")
    assert begin(tmp_path, "k3", cluster=UpgradedCluster()) == [CASE]


def test_a_baseline_that_was_changed_in_the_study_is_tuned_again_without_measuring(tmp_path: Path):
    activate(confirmed(tmp_path))
    assert begin(tmp_path, "k1", study_of(baseline={"linger.ms": 20})) == []
    assert outcome(tmp_path, "k1").reasons == ["baseline.linger.ms: 5 then, 20 now"]


@pytest.mark.slow
def test_a_record_size_that_the_study_has_gained_since_the_last_check_is_tuned(tmp_path: Path):
    activate(confirmed(tmp_path))
    checked(tmp_path, "k1")
    begin(tmp_path, "k2", study_of(record_sizes_bytes=[int(CASE), 65636]))
    measure(tmp_path, "k2")
    manifest = check_compare.run(opened(tmp_path, "k2"))
    assert manifest.cases == ["65636"]
    assert [each.outcome for each in read_checks(FolderStore(tmp_path), "quick", "65636")] == ["new_record_size"]
    begin(tmp_path, "k3", study_of(record_sizes_bytes=[int(CASE), 65636]))
    measure(tmp_path, "k3")
    assert check_compare.run(opened(tmp_path, "k3")).cases == ["65636"], "no tuning has ended yet"
    tuned(tmp_path, "k3")
    begin(tmp_path, "k4", study_of(record_sizes_bytes=[int(CASE), 65636]))
    measure(tmp_path, "k4")
    assert check_compare.run(opened(tmp_path, "k4")).cases == []


def test_a_campaign_of_fewer_record_sizes_than_the_study_has_is_not_taken_for_a_change(tmp_path: Path):
    activate(confirmed(tmp_path))
    assert begin(tmp_path, "k1", study_of(record_sizes_bytes=[int(CASE), 65636])) == [CASE]


def test_a_check_sends_the_campaigns_load(tmp_path: Path):
    campaign = confirmed(tmp_path)
    few = Sizing(records=321, warmup_records=0, throughput_limit_records_s=None)
    campaign.write_record(campaign.keys.sizing(CASE), few)
    activate(campaign)
    sent: list[int] = []
    begin(tmp_path, "k1")
    measure(tmp_path, "k1", lambda tool: setattr(tool, "before_run", lambda request: sent.append(request.records)))
    assert sent == [321] * 12


@pytest.mark.slow
def test_a_check_that_was_killed_measures_on_where_it_stopped(tmp_path: Path):
    activate(confirmed(tmp_path))
    begin(tmp_path, "k1")
    begun = opened(tmp_path, "k1")

    def killed(_: LoadRequest) -> None:
        if len(tool.requests) == 6:
            raise KeyboardInterrupt

    with fake_testbed(begun, CASE) as testbed:
        tool = testbed.load_tool
        tool.before_run = killed
        with pytest.raises(KeyboardInterrupt):
            check_measure.run(begun, CASE, ProducerRunner(begun, CASE, testbed))
    assert begin(tmp_path, "k1", study_of(baseline={"linger.ms": 20})) == [CASE]  # what it does was decided before
    with fake_testbed(begun, CASE) as testbed:
        check_measure.run(begun, CASE, ProducerRunner(begun, CASE, testbed))
        assert len(testbed.load_tool.requests) == 7


@pytest.mark.slow
def test_a_stored_decision_is_not_made_again(tmp_path: Path):
    activate(confirmed(tmp_path))
    first = checked(tmp_path, "k1", slower(0.5))
    activate(confirmed(tmp_path, campaign_id="c2"), version=2)
    assert outcome(tmp_path, "k1") == first


def test_a_record_size_that_is_not_measured_cannot_be(tmp_path: Path):
    activate_baseline(tmp_path)
    begin(tmp_path, "k1")
    with pytest.raises(BadInputError, match="does not measure this case"):
        measure(tmp_path, "k1")


def test_a_cluster_that_is_not_ours_is_checked_only_where_the_study_names_it_with_consent(tmp_path: Path):
    cluster = {"bootstrap_servers": "b:9092", "ceiling_mib_s": 100.0, "ceiling_gib": 9.0, "consent": True}
    activate(confirmed(tmp_path, study_of(cluster=cluster)))
    with pytest.raises(BadInputError, match=r"confirmed on b:9092; name that cluster in the study"):
        begin(tmp_path, "k1")
    with pytest.raises(PlanError, match="consent"):
        begin(tmp_path, "k1", study_of(cluster={**cluster, "consent": False}))
    assert begin(tmp_path, "k1", study_of(cluster=cluster)) == [CASE]


@pytest.mark.slow
def test_the_history_of_a_record_size_marks_where_its_level_was_left(tmp_path: Path):
    activate(confirmed(tmp_path))
    for name, factor in {"k1": 1.0, "k2": 0.5, "k3": 1.0}.items():
        checked(tmp_path, name, slower(factor))
    history = read_checks(FolderStore(tmp_path), "quick", CASE)
    assert [each.check for each in history if each.change_point] == ["k2", "k3"]
    assert [each.check for each in history if each.outcome == "drifted"] == ["k2"]
    assert {each.configuration_id for each in history} == {WINNER_ID}


@pytest.mark.slow
def test_checks_are_no_campaigns_and_leave_no_topic(tmp_path: Path):
    from kafka_pareto.campaign.listing import list_campaigns

    activate(confirmed(tmp_path))
    checked(tmp_path, "k1")
    store = FolderStore(tmp_path)
    assert [entry.campaign for entry in list_campaigns(store)] == ["c1"]
    assert store.keys("_checks/quick/k1/07_report/") == []
    assert store.tag(CheckKeys("quick", "k1").check()) is not None
