"""Campaigns in a store and their states, from object names alone; only the kind is in the frozen study."""

from __future__ import annotations

import re
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal, cast

from pydantic import BaseModel

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import in_order
from kafka_pareto.study.identifiers import CAMPAIGN_ID, STUDY_NAME

_PARALLEL_LISTINGS = 8
_MOST_KEPT = 4096

_KIND = re.compile(rb"^kind: (?P<kind>[a-z]+)$", re.MULTILINE)
_CLUSTER = re.compile(rb"^cluster:\n(?:  .*\n)*?  name: ['\"]?(?P<name>[a-z0-9_-]+)['\"]?$", re.MULTILINE)

State = Literal["designed", "measuring", "confirming", "reported"]


class CampaignEntry(BaseModel):
    """One campaign: its last phase with an object, its cases with measurements, and its cluster's name, if any."""

    study: str
    campaign: str
    state: State
    designed_at: datetime
    cases: list[str]
    cluster: str = ""


@dataclass(frozen=True)
class _StudyWrite:
    """One write of a campaign's frozen study, as a key of what cannot change after it; stores differ by identity."""

    store: Hashable
    keys: CampaignKeys
    designed_at: datetime


# A reported campaign has all its cases, and remains reported.
_REPORTED: dict[_StudyWrite, CampaignEntry] = {}


def list_campaigns(store: Store) -> list[CampaignEntry]:
    """List all campaigns with a frozen study, latest first, skipping names that are not valid IDs."""
    studies = [name for name in store.folders("") if re.fullmatch(STUDY_NAME, name)]
    found = [CampaignKeys(study, name) for study in studies for name in store.folders(f"{study}/")]
    with ThreadPoolExecutor(_PARALLEL_LISTINGS) as pool:
        valid = [keys for keys in found if re.fullmatch(CAMPAIGN_ID, keys.campaign)]
        entries = [entry for entry in pool.map(lambda keys: _entry(store, keys), valid) if entry]
    return sorted(entries, key=lambda entry: (entry.designed_at, entry.campaign), reverse=True)


def list_campaigns_of(store: Store, kind: str) -> list[CampaignEntry]:
    """List the campaigns of one kind, latest first; an unreadable study counts as `tune`."""
    entries = list_campaigns(store)
    with ThreadPoolExecutor(_PARALLEL_LISTINGS) as pool:
        heads = pool.map(
            lambda entry: _head(_write(store, CampaignKeys(entry.study, entry.campaign), entry.designed_at)), entries
        )
    found = zip(entries, heads, strict=True)
    return [entry.model_copy(update={"cluster": cluster}) for entry, (named, cluster) in found if named == kind]


def frozen_head(store: Store, keys: CampaignKeys) -> tuple[str, str]:
    """Return the kind and the cluster's name of a campaign's frozen study, by default `tune` and empty."""
    # Frozen studies have one key per line; parsing YAML would take a hundred times as long.
    text = store.get(keys.frozen_study())
    kind, cluster = _KIND.search(text), _CLUSTER.search(text)
    return kind["kind"].decode() if kind else "tune", cluster["name"].decode() if cluster else ""


@lru_cache(_MOST_KEPT)
def _head(write: _StudyWrite) -> tuple[str, str]:
    return frozen_head(cast("Store", write.store), write.keys)


def _write(store: Store, keys: CampaignKeys, written_at: datetime) -> _StudyWrite:
    return _StudyWrite(cast("Hashable", store), keys, written_at)  # not part of the store's protocol


def _entry(store: Store, keys: CampaignKeys) -> CampaignEntry | None:
    designed_at = store.written_at(keys.frozen_study()).get(keys.frozen_study())
    if designed_at is None:
        return None
    write = _write(store, keys, designed_at)
    if known := _REPORTED.get(write):
        return known
    folders = store.folders(f"{keys.prefix}/")
    cases = in_order(store.folders(keys.measurements("").removesuffix("/")))
    state: State = "measuring" if cases else "designed"
    state = "reported" if "07_report" in folders else "confirming" if "06_confirmation" in folders else state
    entry = CampaignEntry(study=keys.study, campaign=keys.campaign, state=state, designed_at=designed_at, cases=cases)
    if state == "reported" and len(_REPORTED) < _MOST_KEPT:
        _REPORTED[write] = entry
    return entry
