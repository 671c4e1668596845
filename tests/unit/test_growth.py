"""Checks that requests to the store grow no faster than a campaign: they are counted, no time is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.listing import list_campaigns_of
from kafka_pareto.campaign.progress import campaign_progress
from kafka_pareto.drift.check_records import read_histories
from kafka_pareto.errors import GateError
from kafka_pareto.explorer.snapshot import KeptRepetitions, Written
from kafka_pareto.measurement.failure_limit import FailureLimit
from kafka_pareto.measurement.repetition_store import RepetitionStore
from kafka_pareto.storage.folder_store import FolderStore
from tests.browser.past_checks import STUDY, write_check
from tests.recorded import recorded_repetitions
from tests.unit.measuring import quick, started

pytestmark = pytest.mark.fast

WRITTEN_AT = datetime(2026, 11, 27, tzinfo=UTC)
SIZES = (4, 40)


class Asked(FolderStore):
    """A folder that counts reads and listings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: Counter[str] = Counter()

    def get(self, key: str) -> bytes:
        self.asked["reads"] += 1
        return super().get(key)

    def keys(self, prefix: str) -> list[str]:
        self.asked["listings"] += 1
        return super().keys(prefix)

    def folders(self, prefix: str) -> list[str]:
        self.asked["listings"] += 1
        return super().folders(prefix)


class Names(dict[str, datetime]):
    """A listing that counts how often all of its names are looked at."""

    passes = 0

    def __iter__(self) -> Iterator[str]:
        self.passes += 1
        return super().__iter__()


def campaign_of(folder: Path, sizes: int) -> Campaign:
    """A designed campaign of so many record sizes."""
    campaign = started(folder, quick(record_sizes_bytes=[256 + 8 * at for at in range(sizes)]))
    return Campaign(campaign.study, campaign.keys, Asked(folder))


@pytest.mark.slow
def test_progress_looks_at_a_campaigns_names_as_often_however_many_record_sizes_it_has(tmp_path: Path) -> None:
    passes = set()
    for sizes in SIZES:
        campaign = campaign_of(tmp_path / str(sizes), sizes)
        keys = [f"{campaign.keys.measurements(case)}{at}.json" for case in campaign.study.cases for at in range(3)]
        names = Names(dict.fromkeys([campaign.keys.design(), *keys], WRITTEN_AT))
        assert campaign_progress(campaign, names).repetitions == 3 * sizes
        passes.add(names.passes)
    assert len(passes) == 1


def test_a_measuring_task_reads_only_the_failures_of_other_record_sizes(tmp_path: Path) -> None:
    asked = {}
    for sizes in SIZES:
        campaign = campaign_of(tmp_path / str(sizes), sizes)
        own, *others = campaign.study.cases
        [one] = recorded_repetitions(("8192",), configurations=0, blocks=1)
        for case in others:
            identity = one.repetition_id.replace("8192", case)
            measured = one.model_copy(update={"case": case, "repetition_id": identity})
            campaign.write_record(f"{campaign.keys.measurements(case)}{identity}.json", measured)
        assert isinstance(campaign.store, Asked)
        campaign.store.asked.clear()
        FailureLimit(RepetitionStore(campaign, campaign.keys.measurements(own)), 0, own).check()
        asked[sizes] = dict(campaign.store.asked)
    assert asked[SIZES[0]] == asked[SIZES[1]]


def test_a_failure_is_known_to_the_other_record_sizes_tasks_until_it_is_rejected(tmp_path: Path) -> None:
    campaign = started(tmp_path, quick(record_sizes_bytes=[256, 264], validation={"tolerated_rejected_fraction": 0.0}))
    first, second = campaign.study.cases
    [one] = recorded_repetitions(("8192",), configurations=0, blocks=1)
    failed = one.model_copy(update={"case": first, "outcome": "failed", "reason": "it hiccuped"})
    stored = RepetitionStore(campaign, campaign.keys.measurements(first))
    limit = FailureLimit(stored, 0, first)
    stored.put(failed)
    beside = RepetitionStore(campaign, campaign.keys.measurements(second))
    FailureLimit(beside, 0, second).check()  # nothing is known of it yet
    with pytest.raises(GateError, match="it hiccuped"):
        limit.check()
    with pytest.raises(GateError, match="it hiccuped"):
        FailureLimit(beside, 0, second).check()

    stored.put(failed.model_copy(update={"outcome": "valid", "reason": ""}))
    limit.check()
    FailureLimit(beside, 0, second).check()


def test_the_last_round_is_found_by_as_many_requests_however_many_record_sizes_there_are(tmp_path: Path) -> None:
    asked = {}
    for sizes in SIZES:
        campaign = campaign_of(tmp_path / str(sizes), sizes)
        for key in [campaign.keys.trials(), *map(campaign.keys.front, campaign.study.cases)]:
            campaign.store.put(key, b"")
        assert isinstance(campaign.store, Asked)
        campaign.store.asked.clear()
        assert campaign.last_round() == 0
        asked[sizes] = dict(campaign.store.asked)
    assert asked[SIZES[0]] == asked[SIZES[1]]


def test_the_histories_of_all_record_sizes_take_one_read_of_each_check(tmp_path: Path) -> None:
    store = Asked(tmp_path)
    for day in (1, 8, 15):
        write_check(store, day, "1024", 0.5, 2.0)
    store.asked.clear()
    found = read_histories(store, STUDY, [str(case) for case in range(1000, 1100)])
    assert len(found["1024"]) == 3
    assert store.asked["reads"] == 3


def test_one_repetition_more_than_there_is_room_for_costs_a_few_reads_and_not_all_again(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, 1)
    repetitions = recorded_repetitions(("8192",), blocks=1)
    room = len(repetitions) - 1
    written = [
        Written(tmp_path, f"{campaign.keys.measurements('8192')}{each.repetition_id}.json", WRITTEN_AT, campaign)
        for each in repetitions
    ]
    for each, repetition in zip(written, repetitions, strict=True):
        campaign.write_record(each.key, repetition)
    assert isinstance(campaign.store, Asked)
    kept = KeptRepetitions(room)
    for each in written:
        kept.read(each)
    campaign.store.asked.clear()
    assert [kept.read(each) for each in written] == repetitions
    assert 1 <= campaign.store.asked["reads"] <= room / 5


def test_a_reported_campaign_is_listed_again_by_one_request_until_its_study_is_written_again(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, 2)
    store, keys = campaign.store, campaign.keys
    assert isinstance(store, Asked)
    store.put(keys.frozen_study(), b"kind: tune\n")
    for state, key in (
        ("measuring", f"{keys.measurements('256')}one.json"),
        ("confirming", keys.confirmation("256", "decision.json")),
        ("reported", keys.report("cards.json")),
    ):
        store.put(key, b"")
        assert [each.state for each in list_campaigns_of(store, "tune")] == [state]
    store.asked.clear()
    [entry] = list_campaigns_of(store, "tune")
    assert (entry.state, entry.cases) == ("reported", ["256"])
    assert store.asked == {"listings": 3}  # the studies, the study's campaigns, and when the campaign was designed

    store.delete(keys.report("cards.json"))
    store.put(keys.frozen_study(), store.get(keys.frozen_study()))
    assert [each.state for each in list_campaigns_of(store, "tune")] == ["confirming"]


def test_the_first_repetition_is_there_before_all_are_read(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path, 1)
    [one] = recorded_repetitions(("8192",), configurations=0, blocks=1)
    prefix, count = campaign.keys.measurements("256"), 600
    for block in range(count):
        identity = one.repetition_id.replace("-b000-", f"-b{block:03d}-")
        campaign.write_record(f"{prefix}{identity}.json", one.with_values({"repetition_id": identity, "block": block}))
    assert isinstance(campaign.store, Asked)
    campaign.store.asked.clear()
    repetitions = campaign.each_repetition(prefix)
    assert next(repetitions).block == 0
    assert campaign.store.asked["reads"] < count / 2
    assert [each.block for each in repetitions] == list(range(1, count))
