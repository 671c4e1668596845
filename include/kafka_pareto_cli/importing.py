"""Copy the campaigns of a local run's folder to a stack's store, to view them in its explorer."""

from __future__ import annotations

from pathlib import Path

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.store import open_store


def import_campaigns(folder: Path, settings: Settings) -> list[str]:
    """Copy all campaigns of the folder and return their names; do not change the active settings.

    A partial copy is completed. The frozen study is written last, since campaigns without it are not listed.

    Raises:
        BadInputError: If the folder has no campaign, or the store has a different one with the same name.
    """
    if not folder.is_dir():
        raise BadInputError(f"{folder}: there is no such folder; give the store folder that `run --local` printed")
    source, target = FolderStore(folder), open_store(settings)
    found = [CampaignKeys(entry.study, entry.campaign) for entry in list_campaigns(source)]
    if not found:
        raise BadInputError(f"{folder}: contains no campaign; give the store folder that `run --local` printed")
    for keys in found:
        frozen = keys.frozen_study()
        if target.tag(frozen) is not None and target.get(frozen) != source.get(frozen):
            raise BadInputError(
                f"{keys.study}/{keys.campaign}: the stack has a different campaign with this name; read this one with "
                f"kafka-pareto result {keys.study} --store {folder}"
            )
    for keys in found:
        frozen = keys.frozen_study()
        for key in [*(key for key in source.keys(f"{keys.study}/{keys.campaign}/") if key != frozen), frozen]:
            target.put(key, source.get(key))
    return [f"{keys.study} {keys.campaign}" for keys in found]
