"""Copy the campaigns of a local run's folder to a stack's store, so that its explorer shows them."""

from __future__ import annotations

from pathlib import Path

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import open_store


def import_campaigns(folder: Path, settings: Settings) -> list[str]:
    """Copy all campaigns of the folder, and return their names; the active settings stay as they are.

    A campaign that was copied before is completed. The frozen study is written last: without it a campaign that was
    copied in part does not show.

    Raises:
        BadInputError: If the folder holds no campaign, or the store has another one of the same name.
    """
    if not folder.is_dir():
        raise BadInputError(f"{folder}: there is no such folder")
    source, target = FolderStore(folder), open_store(settings)
    found = [CampaignKeys(entry.study, entry.campaign) for entry in list_campaigns(source)]
    if not found:
        raise BadInputError(f"{folder}: holds no campaign; give the folder that `run --local` named as its store")
    for keys in found:
        frozen = keys.frozen_study()
        if target.tag(frozen) is not None and target.get(frozen) != source.get(frozen):
            raise BadInputError(f"{keys.study}/{keys.campaign}: the stack has another campaign of this name")
    for keys in found:
        frozen = keys.frozen_study()
        for key in [*(key for key in source.keys(f"{keys.study}/{keys.campaign}/") if key != frozen), frozen]:
            target.put(key, source.get(key))
    return [f"{keys.study} {keys.campaign}" for keys in found]
