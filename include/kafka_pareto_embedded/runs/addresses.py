"""Copies a campaign's pages to where a browser can open them, and returns the addresses of what shows a campaign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError, TrackingError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import Store
from kafka_pareto_embedded.stack.stack import Stack


def data_docs(store: Store, keys: CampaignKeys, folder: Path) -> dict[str, str]:
    """Returns the Data Docs' pages of every round, the design's first."""
    addresses = {}
    for number in range(Campaign.open(store, keys.study, keys.campaign).last_round() + 1):
        pages = store.keys(keys.validation("data_docs/", number))
        copies = folder / f"round_{number}" if number else folder
        docs = download(store, pages, keys.validation("", number), copies)
        addresses[f"- round {number}" if number else "Data Docs"] = address_of(docs, "index.html")
    return addresses


def download(store: Store, keys: Sequence[str], prefix: str, folder: Path) -> list[Path]:
    """Copies private objects to files, so that a browser can open them; their paths below `prefix` are kept."""
    paths = []
    for key in keys:
        path = (folder / key.removeprefix(prefix)).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise BadInputError(f"{key}: leads out of {folder}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.get(key))
        paths.append(path)
    return paths


def address_of(paths: Sequence[Path], name: str) -> str:
    """Returns the address of the file of this name that lies highest."""
    found = sorted((path for path in paths if path.name == name), key=lambda path: len(path.parts))
    return found[0].as_uri() if found else "none was made"


def mlflow_address(stack: Stack, keys: CampaignKeys, find: Callable[[Settings, CampaignKeys], str | None]) -> str:
    """Returns the address that `find` finds in MLflow; the server's own page if there is none, or no answer."""
    try:
        return find(stack.settings(), keys) or stack.mlflow_url
    except TrackingError:
        return stack.mlflow_url
