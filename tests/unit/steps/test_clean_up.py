"""Old campaigns are deleted as their study says; what active settings need stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_pareto.campaign.keys import CampaignKeys, CheckKeys, InForceKeys
from kafka_pareto.errors import BadInputError
from kafka_pareto.rollout.retention import delete_campaign
from kafka_pareto.steps import clean_up
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.retention import Retention
from kafka_pareto.study.study_file import dump_study, load_study
from kafka_pareto.study.tune import tune_study
from kafka_pareto.study.warm_start import WarmStart
from tests.recorded import STUDIES, paper_study
from tests.unit.embedded.test_rollout import activate

pytestmark = pytest.mark.fast
NOW = datetime.now(UTC)


class Aging(FolderStore):
    """A store in which campaigns are as many days old as their IDs say."""

    def written_at(self, prefix: str) -> dict[str, datetime]:
        return {key: NOW - timedelta(days=int(key.split("/")[1])) for key in super().written_at(prefix)}


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    folder = tmp_path / "studies"
    folder.mkdir()
    write_study(folder, "retention: {days: 30, campaigns: 2}")
    return folder


def write_study(folder: Path, retention: str, name: str = "paper") -> None:
    study = paper_study().model_copy(update={"name": name})
    (folder / f"{name}.yaml").write_text(f"{dump_study(study)}{retention}\n")


def store_with(folder: Path, *days: int, study: str = "paper", is_reported: bool = True) -> Aging:
    store = Aging(folder / "store")
    for each in days:
        keys = CampaignKeys(study, str(each))
        names = [keys.frozen_study(), f"{keys.measurements('1024')}a.json"]
        for name in [*names, keys.report("cards.json")] if is_reported else names:
            store.put(name, b"{}")
    return store


def left(store: FolderStore, study: str = "paper") -> list[int]:
    return sorted(int(name) for name in store.folders(f"{study}/"))


def test_campaigns_beyond_the_days_are_deleted_except_the_newest_reported(tmp_path: Path, studies: Path) -> None:
    store = store_with(tmp_path, 1, 31, 32, 33)
    store_with(tmp_path, 2, 34, 99, is_reported=False)
    manifest = clean_up.run(store, studies, NOW)
    assert left(store) == [1, 2, 31]
    assert manifest.counts == {"campaigns_deleted": 4}
    assert manifest.artifacts == [f"paper/{days}" for days in (99, 34, 33, 32)]
    assert clean_up.run(store, studies, NOW).artifacts == []


def test_the_campaigns_of_active_settings_and_of_those_before_them_stay(tmp_path: Path, studies: Path) -> None:
    store = store_with(tmp_path, *range(40, 46))
    for version, campaign in enumerate(("45", "44", "43"), 1):
        activate(store, "paper", "1024", version=version, previous_version=version - 1 or None, campaign=campaign)
    clean_up.run(store, studies, NOW)
    assert left(store) == [40, 41, 43, 44]


def test_campaigns_that_answered_a_check_or_start_others_stay(tmp_path: Path, studies: Path) -> None:
    study = tune_study(load_study(STUDIES / "cold_burst.yaml"))
    started = study.model_copy(
        update={"warm_start": WarmStart(campaigns=["45", "43"]), "retention": Retention(days=30, campaigns=2)}
    )
    (studies / "cold_burst.yaml").write_text(dump_study(started))
    store = store_with(tmp_path, *range(40, 46), study="cold_burst")
    store.put(CheckKeys("cold_burst", "44").check(), b"{}")
    clean_up.run(store, studies, NOW)
    assert left(store, "cold_burst") == [40, 41, 43, 44, 45]


def test_a_study_without_the_section_and_one_without_a_file_lose_nothing(tmp_path: Path, studies: Path) -> None:
    write_study(studies, "", "kept")
    store = store_with(tmp_path, 400, study="kept")
    store_with(tmp_path, 400, study="unknown")
    clean_up.run(store, studies, NOW)
    assert (left(store, "kept"), left(store, "unknown")) == ([400], [400])


def test_an_unreadable_study_or_version_is_named_and_keeps_its_own_campaigns_only(
    tmp_path: Path, studies: Path
) -> None:
    write_study(studies, "retention: {days: 30}", "damaged")
    (studies / "wrong.yaml").write_text("name: wrong\n")
    store = store_with(tmp_path, 1, 90, study="damaged")
    store_with(tmp_path, 1, 2, 90)
    store.put(InForceKeys("damaged", "1024").version(1), b"{")
    with pytest.raises(BadInputError, match=r"(?s)_in_force/damaged/1024/versions/00001\.json: .*wrong\.yaml: "):
        clean_up.run(store, studies, NOW)
    assert (left(store, "damaged"), left(store)) == ([1, 90], [1, 2])


def test_an_interrupted_deletion_is_completed(tmp_path: Path, studies: Path) -> None:
    store = store_with(tmp_path, 1, 2, 90)
    store.delete(CampaignKeys("paper", "90").frozen_study())  # the first that is deleted
    clean_up.run(store, studies, NOW)
    assert left(store) == [1, 2]
    delete_campaign(store, CampaignKeys("paper", "1"))
    assert left(store) == [2]
