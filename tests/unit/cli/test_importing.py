"""A local run's folder, copied to the store of a stack."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_cli.importing import import_campaigns
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

KEYS = CampaignKeys("quick", "c1")


@pytest.fixture
def ours(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / "ours")
    store.put(KEYS.frozen_study(), (STUDIES / "quick.yaml").read_bytes())
    store.put(KEYS.report("cards.txt"), b"cards")
    store.put("_in_force/quick/1024/00001.json", b"{}")
    store.put("leases/cluster.json", b"{}")
    return store


def test_campaigns_can_be_copied_twice_and_the_active_settings_stay(ours: FolderStore, tmp_path: Path) -> None:
    theirs = FolderStore(tmp_path / "theirs")
    for _ in range(2):
        assert import_campaigns(tmp_path / "ours", Settings(store_folder=tmp_path / "theirs")) == ["quick c1"]
    assert theirs.keys("") == ours.keys("quick/")


def test_another_campaign_of_the_same_name_is_left_alone(ours: FolderStore, tmp_path: Path) -> None:
    theirs = FolderStore(tmp_path / "theirs")
    theirs.put(KEYS.frozen_study(), (STUDIES / "quick.yaml").read_bytes() + b"# another\n")
    with pytest.raises(BadInputError, match="quick/c1: the stack has a different campaign with this name"):
        import_campaigns(tmp_path / "ours", Settings(store_folder=tmp_path / "theirs"))
    assert theirs.keys("") == [KEYS.frozen_study()]
    assert ours.keys("")


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_a_campaign_is_named(exists: bool, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    if exists:
        folder.mkdir()
    with pytest.raises(BadInputError, match=str(folder)):
        import_campaigns(folder, Settings(store_folder=tmp_path / "theirs"))
    assert folder.exists() == exists
