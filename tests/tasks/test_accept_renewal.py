"""Checks when an answer or a recommendation no longer counts: the cluster has changed, or the question is old."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.client_config import client_config_name
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.errors import BadInputError, ClusterError
from kafka_pareto.rollout.renewal import Look, look_now
from kafka_pareto.rollout.versions import active_cases, cluster_of_version, versions
from kafka_pareto.steps import roll_back
from kafka_pareto.study.options import Wanted
from kafka_pareto.study.sections import ForeignCluster, OwnBrokers
from kafka_pareto.study.study_file import dump_study
from tests.tasks.accepting import (
    CASE,
    STUDY,
    accepted,
    decision_of,
    durable_id,
    measured_on,
    newest,
    other_id,
)

pytestmark = [pytest.mark.fast, pytest.mark.slow]

UPGRADED = "fingerprint.kafka_version: 4.3.1 then, 4.4.0 now"
APPROVED = Wanted(answer="approve", by="alice")
BERLIN = ForeignCluster(name="berlin", bootstrap_servers="b:1", ceiling_mib_s=1, ceiling_gib=1)


def now(**facts: object) -> Look:
    """The cluster with other facts than the campaign measured."""

    def look(campaign: Campaign) -> Fingerprint:
        then = measured_on(campaign)
        return then.model_copy(update={"system": {**then.system, **facts}})

    return look


def away(_: Campaign) -> Fingerprint:
    raise ClusterError("no broker answers")


def said(manifest: Manifest) -> str:
    assert manifest.notice
    assert manifest.notice.kind == "needs_approval"
    return manifest.notice.text


def of(campaign: Campaign, **changes: object) -> Campaign:
    """The campaign with another study."""
    return Campaign(campaign.study.model_copy(update=changes), campaign.keys, campaign.store)


@pytest.mark.parametrize("wanted", [APPROVED, Wanted()])
@pytest.mark.parametrize(
    ("look", "change"),
    [
        (now(kafka_version="4.4.0"), UPGRADED),
        (now(brokers=["a:1", "b:1", "c:1", "d:1"]), "fingerprint.brokers: 3 then, 4 now"),
        (now(cluster_id="another"), "another now"),
        (away, "it is unknown whether the system has changed since campaign "),
    ],
)
def test_a_campaign_measured_on_another_cluster_needs_approval_showing_the_differences(
    campaign: Campaign, wanted: Wanted, look: Look, change: str
) -> None:
    manifest = accepted(campaign, wanted, look)
    assert change in said(manifest)
    assert active_cases(campaign.store, STUDY) == []
    assert manifest.question["action"] == "ask"
    assert (manifest.question["study"], manifest.question["campaign"]) == (STUDY, campaign.keys.campaign)


def test_a_second_approval_after_seeing_the_differences_counts_and_a_further_change_asks_again(
    campaign: Campaign,
) -> None:
    seen = str(accepted(campaign, APPROVED, now(kafka_version="4.4.0")).question["changes_seen"])
    again = Wanted(answer="approve", by="alice", changes_seen=seen)
    other = accepted(campaign, again, now(kafka_version="4.5.0"))
    assert "4.3.1 then, 4.5.0 now" in said(other)
    assert other.question["changes_seen"] != seen
    manifest = accepted(campaign, again, now(kafka_version="4.4.0"))
    assert (manifest.cases, manifest.question) == ([CASE], {})
    assert newest(campaign).accepted_by == "alice"


def test_who_is_asked_about_a_cluster_that_cannot_be_looked_at_afterwards_is_asked_once(campaign: Campaign) -> None:
    handed_over = client_config_name(campaign.keys.campaign)
    cluster = ForeignCluster(bootstrap_servers="b:1", client_config=handed_over, ceiling_mib_s=1, ceiling_gib=1)
    theirs = of(campaign, cluster=cluster)
    seen = str(accepted(theirs, Wanted(ask=True)).question["changes_seen"])
    assert accepted(theirs, Wanted(answer="approve", by="alice", changes_seen=seen), away).cases == [CASE]


def test_a_changed_client_or_address_is_not_another_cluster(campaign: Campaign) -> None:
    def look(found: Campaign) -> Fingerprint:
        moved = now(brokers=["x:1", "y:1", "z:1"], topic="another")(found)
        return moved.model_copy(update={"client_host": "another"})

    assert accepted(campaign, Wanted(), look).cases == [CASE]


def test_already_active_settings_are_announced_again_without_a_check(campaign: Campaign) -> None:
    wanted = Wanted(answer="approve", by="alice", request="r1", asked_at=datetime.now(UTC))
    first = accepted(campaign, wanted)
    again = accepted(campaign, wanted, away)
    assert (again.cases, again.event, again.question) == ([CASE], first.event, {})


def test_brokers_of_the_studys_own_are_not_looked_for(campaign: Campaign) -> None:
    assert accepted(of(campaign, testbed=OwnBrokers(brokers=3)), Wanted(), away).cases == [CASE]


def test_a_late_answer_is_asked_for_again(campaign: Campaign) -> None:
    asked_at = datetime.now(UTC) - timedelta(days=7, minutes=1)
    late = Wanted(answer="approve", by="alice", asked_at=asked_at)
    manifest = accepted(campaign, late)
    assert f"is from {asked_at:%Y-%m-%d}, and an answer is valid for 7 days" in said(manifest)
    assert active_cases(campaign.store, STUDY) == []
    assert manifest.question == {"action": "ask", "study": STUDY, "campaign": campaign.keys.campaign}
    confirmation = campaign.tune.confirmation.model_copy(update={"answer_within_days": 8})
    assert accepted(of(campaign, confirmation=confirmation), late).cases == [CASE]


def test_a_rejection_counts_however_late_it_comes_and_whatever_has_changed(campaign: Campaign) -> None:
    asked_at = datetime.now(UTC) - timedelta(days=300)
    manifest = accepted(campaign, Wanted(answer="reject", by="bob", asked_at=asked_at), away)
    assert manifest.question == {}
    assert active_cases(campaign.store, STUDY) == []


def test_a_users_pick_needs_confirmation_that_they_have_seen_the_differences(campaign: Campaign) -> None:
    look, configuration = now(kafka_version="4.4.0"), durable_id(campaign)
    differs = r"4\.3\.1 then, 4\.4\.0 now\. Run a new campaign or, .*--changes-seen="
    with pytest.raises(BadInputError, match=differs) as no:
        accepted(campaign, Wanted(case=CASE, configuration=configuration, by="alice"), look)
    assert active_cases(campaign.store, STUDY) == []
    seen = str(no.value).split("--changes-seen=")[1][:10]
    assert accepted(
        campaign, Wanted(case=CASE, configuration=configuration, by="alice", changes_seen=seen), look
    ).cases == [CASE]


def test_with_approval_required_nothing_moves_but_already_active_settings_need_no_question(
    campaign: Campaign,
) -> None:
    manifest = accepted(campaign, Wanted(ask=True))
    assert "65,636 B: waiting for approval" in said(manifest)
    assert active_cases(campaign.store, STUDY) == []
    assert manifest.question == {"action": "ask", "study": STUDY, "campaign": campaign.keys.campaign}
    accepted(campaign, APPROVED)
    assert accepted(campaign, Wanted(ask=True)).question == {}


def test_without_a_cluster_in_the_settings_nobody_knows_whether_it_is_the_same(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_PARETO_BOOTSTRAP_SERVERS", raising=False)
    assert "the system cannot be reached now" in said(accepted(campaign, APPROVED, look_now))


def test_settings_of_a_cluster_move_by_its_own_dag_alone(campaign: Campaign) -> None:
    in_berlin, pick = of(campaign, cluster=BERLIN), durable_id(campaign)
    with pytest.raises(BadInputError, match=r"belong to cluster berlin; trigger settings_in_force_berlin instead"):
        accepted(in_berlin, Wanted(case=CASE, configuration=pick, cluster=""))
    with pytest.raises(BadInputError, match=r"belong to the stack's own cluster; trigger settings_in_force instead"):
        accepted(campaign, Wanted(case=CASE, configuration=pick, cluster="berlin"))
    assert accepted(in_berlin, Wanted(case=CASE, configuration=pick, cluster="berlin")).cases == [CASE]
    with pytest.raises(BadInputError, match="belong to cluster berlin"):
        roll_back.run(campaign.store, STUDY, CASE, cluster="")
    roll_back.run(campaign.store, STUDY, CASE, cluster="berlin")
    assert [each.cluster for each in versions(campaign.store, STUDY, CASE)] == ["berlin", "berlin"]


@pytest.fixture
def moved(campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """The study was of the installation's own cluster, where something is active, and its file names berlin now."""
    accepted(campaign, Wanted(case=CASE, configuration=durable_id(campaign), cluster=""))
    studies = tmp_path / "studies"
    studies.mkdir()
    (studies / f"{STUDY}.yaml").write_text("cluster: {name: berlin}")
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(studies))
    return of(campaign, cluster=BERLIN)


def test_settings_active_on_a_studys_former_cluster_cannot_be_restored(moved: Campaign) -> None:
    accepted(moved, Wanted(case=CASE, configuration=other_id(moved), cluster="berlin"))
    second = newest(moved)
    assert (second.version, second.cluster, second.previous_version) == (2, "berlin", None)
    assert second.previous_properties == decision_of(moved).baseline_properties
    roll_back.run(moved.store, STUDY, CASE, cluster="berlin")
    assert (newest(moved).is_baseline, newest(moved).cluster) == (True, "berlin")


def test_from_a_studys_former_cluster_nothing_moves_where_it_is_now(campaign: Campaign, moved: Campaign) -> None:
    former = Wanted(case=CASE, configuration=other_id(campaign), cluster="")
    accepted(campaign, former)  # the new cluster has no active settings yet
    accepted(moved, Wanted(case=CASE, configuration=durable_id(campaign), cluster="berlin"))
    with pytest.raises(BadInputError, match="belong to cluster berlin; trigger settings_in_force_berlin instead"):
        accepted(campaign, former)
    assert [each.cluster for each in versions(campaign.store, STUDY, CASE)] == ["", "", "berlin"]


def test_a_version_that_does_not_name_its_cluster_is_of_its_campaigns(campaign: Campaign) -> None:
    accepted(campaign, Wanted(case=CASE, configuration=durable_id(campaign)))
    unnamed = newest(campaign).model_copy(update={"cluster": None})
    assert cluster_of_version(campaign.store, unnamed) == ""
    frozen = dump_study(campaign.study.model_copy(update={"cluster": BERLIN}))
    campaign.store.put(campaign.keys.frozen_study(), frozen.encode())
    assert cluster_of_version(campaign.store, unnamed) == "berlin"
