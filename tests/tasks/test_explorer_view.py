"""The explorer's view of a campaign comes from its artifacts, while it runs and afterwards."""

from __future__ import annotations

import dataclasses
import shutil
import time
from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.campaign.progress import campaign_progress
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.errors import ArtifactError, BadInputError
from kafka_pareto.explorer.intervals import intervals
from kafka_pareto.explorer.snapshot import read_snapshot
from kafka_pareto.explorer.view import CaseView, Point, case_view
from kafka_pareto.storage.folder_store import FolderStore
from tests.tasks.report_campaign import CAMPAIGN, small_study, write_confirmed_campaign

pytestmark = pytest.mark.fast

CASE = "65636"


class CountingStore(FolderStore):
    """A folder that counts what is read of it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reads: list[str] = []

    def get(self, key: str) -> bytes:
        self.reads.append(key)
        return super().get(key)


@pytest.fixture
def store(reported_store: Path, tmp_path: Path) -> CountingStore:
    shutil.copytree(reported_store, tmp_path, dirs_exist_ok=True)
    return CountingStore(tmp_path)


@pytest.fixture
def campaign(store: CountingStore) -> Campaign:
    return Campaign.open(store, "paper", CAMPAIGN)


def view_of(campaign: Campaign, case: str = CASE) -> CaseView:
    return case_view(read_snapshot(campaign, case))


def point_of(view: CaseView, name: str) -> Point:
    return next(point for point in view.points if point.configuration_id == name)


def forget(campaign: Campaign, *parts: str) -> None:
    """Delete every artifact with one of these parts in its key, as if the campaign had not reached that step."""
    for key in campaign.store.keys(f"{campaign.keys.prefix}/"):
        if any(part in key for part in parts):
            campaign.store.delete(key)


def test_campaigns_are_listed_latest_first_without_reading_an_artifact(store: CountingStore) -> None:
    store.put("quick/20261122/study.yaml", b"anything")
    store.put("<script>/x/study.yaml", b"anything")
    store.put("quick/no id/study.yaml", b"anything")
    store.put("quick/unfinished/plan.json", b"anything")
    first, second = list_campaigns(store)
    assert (first.study, first.campaign, first.state) == ("quick", "20261122", "designed")
    assert (second.campaign, second.state, second.cases) == (CAMPAIGN, "reported", ["1024", CASE])
    assert store.reads == []


@pytest.mark.parametrize(
    ("missing", "state"),
    [
        (["/07_report/"], "confirming"),
        (["/07_report/", "/06_confirmation/"], "measuring"),
        (["/07_report/", "/06_confirmation/", "/02_measurements/"], "designed"),
    ],
)
def test_the_state_is_the_last_phase_of_which_something_is_there(
    campaign: Campaign, missing: list[str], state: str
) -> None:
    forget(campaign, *missing)
    assert [entry.state for entry in list_campaigns(campaign.store)] == [state]


def test_every_configuration_is_shown_with_the_values_of_its_trials(campaign: Campaign) -> None:
    trials = campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)
    trials = trials[trials.case == CASE].set_index("configuration_id")
    view = view_of(campaign)
    measured = {point.configuration_id: point.design for point in view.points if point.design}
    assert set(measured) == set(trials.index)
    for name, design in measured.items():
        assert design.values["p95_latency_ms"] == trials.p95_latency_ms[name]
        assert design.repetitions == trials.repetitions_valid[name]


def test_a_changed_artifact_changes_the_view(campaign: Campaign) -> None:
    key = campaign.keys.confirmation(CASE, "trials.parquet")
    trials = campaign.read_table(key, TRIAL_COLUMNS)
    name = trials.configuration_id[1]
    campaign.write_table(key, trials.assign(throughput_mib_s=trials.throughput_mib_s + 1000), TRIAL_COLUMNS)
    confirmed = point_of(view_of(campaign), name).confirmed
    assert confirmed
    assert confirmed.values["throughput_mib_s"] == trials.throughput_mib_s[1] + 1000


def test_the_card_is_the_reports(campaign: Campaign) -> None:
    view = view_of(campaign)
    assert view.card
    text = campaign.store.get(campaign.keys.report("cards.txt")).decode()
    assert view.card.headline in text
    assert all(cell in text for row in view.card.gains + view.card.breakdown for cell in row)
    assert not view.awaits_report


def test_a_decided_record_size_has_its_card_before_the_report(campaign: Campaign) -> None:
    forget(campaign, "/07_report/")
    view = view_of(campaign)
    assert view.awaits_report
    assert view.card
    assert view.card.breakdown == []
    assert view.recommended_id


def test_a_reported_campaign_is_read_without_its_single_repetitions(campaign: Campaign, store: CountingStore) -> None:
    store.reads.clear()
    view_of(campaign)
    assert not [key for key in store.reads if "/02_measurements/" in key or "/repetitions/" in key]
    assert len(store.reads) < 10


def test_first_results_of_a_round_without_a_verdict_are_shown_as_such(campaign: Campaign) -> None:
    forget(campaign, "/03_", "/04_", "/05_", "/06_", "/07_")
    view = view_of(campaign)
    assert len(view.points) == 3  # the recording keeps the repetitions of three configurations
    assert all(point.design for point in view.points)
    assert view.card is None
    assert any(point.on_measured_front for point in view.points)


def test_a_campaign_of_which_only_the_design_is_there_is_empty_and_no_error(campaign: Campaign) -> None:
    forget(campaign, "/02_", "/03_", "/04_", "/05_", "/06_", "/07_")
    view = view_of(campaign)
    assert view.points == []
    assert view.card is None
    assert view.noise_table == []


def test_the_measured_front_is_the_configurations_no_other_confirmed_one_beats(campaign: Campaign) -> None:
    view = view_of(campaign)
    confirmed = [point for point in view.points if point.confirmed]
    on_front = [point for point in confirmed if point.on_measured_front]
    assert on_front
    best = max(confirmed, key=lambda point: point.confirmed.values["throughput_mib_s"] if point.confirmed else 0)
    assert best in on_front
    assert not any(point.on_measured_front for point in view.points if not point.confirmed)


@pytest.mark.slow
def test_of_a_front_of_thousands_a_hundred_are_shown_with_the_total(campaign: Campaign) -> None:
    snapshot = read_snapshot(campaign, CASE)
    one = snapshot.front[snapshot.front.on_joint_front.astype(bool)].head(1)
    many = pd.concat([one] * 3000, ignore_index=True)
    many["configuration_id"] = [f"c{number:010x}" for number in range(3000)]
    many["estimated_throughput_mib_s"] = [float(number) for number in range(3000)]
    view = case_view(dataclasses.replace(snapshot, front=many))
    shown = [point.estimated for point in view.points if point.on_estimated_front]
    assert view.estimated_front_points == 3000
    assert len(shown) == 120
    throughputs = sorted(values["throughput_mib_s"] or 0 for values in shown if values)
    assert (throughputs[0], throughputs[-1]) == (0, 2999)


@pytest.mark.slow
def test_intervals_are_around_the_means_and_none_is_made_up_for_a_cv_across_repetitions(campaign: Campaign) -> None:
    snapshot = read_snapshot(campaign, CASE)
    found = intervals(snapshot)["confirmed"]
    assert set(found) == set(snapshot.confirmed.configuration_id)
    means = snapshot.confirmed.set_index("configuration_id").p95_latency_ms
    for name, of_objective in found.items():
        low, high = of_objective["p95_latency_ms"]
        assert low < means[name] < high
        assert (low + high) / 2 == pytest.approx(means[name])
        assert set(of_objective) == {"p95_latency_ms", "throughput_mib_s"}


@pytest.mark.parametrize(
    ("content", "said"), [(b"{", "cards.json: is not readable JSON"), (b'{"schema_version": 2}', "schema_version 2")]
)
def test_a_damaged_artifact_is_named(campaign: Campaign, content: bytes, said: str) -> None:
    campaign.store.put(campaign.keys.report("cards.json"), content)
    with pytest.raises(ArtifactError, match=said):
        read_snapshot(campaign, CASE)


def test_a_record_size_that_the_campaign_does_not_have_is_refused_with_those_it_has(campaign: Campaign) -> None:
    with pytest.raises(BadInputError, match="has no data for 7 B; it has 1,024 B, 65,636 B"):
        read_snapshot(campaign, "7")


def test_progress_counts_the_stored_repetitions(campaign: Campaign) -> None:
    forget(campaign, "/06_", "/07_", "/05_front/65636")
    progress = campaign_progress(campaign)
    steps = {step.name: step for step in progress.steps}
    assert (steps["measure, 1,024 B"].state, steps["measure, 1,024 B"].repetitions) == ("done", 30)
    assert steps["optimize"].state == "under way"
    assert steps["confirm, 65,636 B"].state == "waiting"
    assert progress.repetitions == 60
    assert not progress.finished
    assert progress.repetitions_likely is None  # this campaign has kept no plan


def test_a_reported_campaign_has_finished_and_has_no_time_left(campaign: Campaign) -> None:
    progress = campaign_progress(campaign)
    assert progress.finished
    assert progress.time_left is None
    assert {step.state for step in progress.steps if step.name != "design"} == {"done"}


def test_a_campaign_whose_report_is_still_being_written_has_not_finished(campaign: Campaign) -> None:
    forget(campaign, "/report.html")
    progress = campaign_progress(campaign)
    assert not progress.finished
    assert {step.name: step.state for step in progress.steps}["report"] == "under way"


@pytest.mark.slow
def test_a_campaign_of_some_three_hundred_trials_takes_well_under_a_second_of_computing(tmp_path: Path) -> None:
    study = small_study(record_sizes_bytes=[1024, 8192, 10240, 16383, int(CASE)])
    campaign = write_confirmed_campaign(tmp_path, study, blocks=3)
    assert len(campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS)) >= 270
    began_s = time.process_time()
    view_of(campaign)
    assert time.process_time() - began_s < 0.5
