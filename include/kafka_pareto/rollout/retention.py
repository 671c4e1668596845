"""Find the campaigns that have expired under their study's `retention`, and delete them."""

from __future__ import annotations

from datetime import datetime, timedelta

from kafka_pareto.campaign.keys import CampaignKeys, CheckKeys, InForceKeys
from kafka_pareto.errors import BadInputError
from kafka_pareto.rollout.versions import active_cases, versions
from kafka_pareto.storage.store import Store
from kafka_pareto.study.retention import Retention
from kafka_pareto.study.study import Study
from kafka_pareto.study.tune import Tune


def expired_campaigns(store: Store, study: Study, retention: Retention, now: datetime) -> list[CampaignKeys]:
    """Return the campaigns to delete, oldest first.

    Raises:
        BadInputError: If the active settings cannot be read: they may need any campaign.
    """
    written = {}
    for campaign in store.folders(f"{study.name}/"):
        if times := store.written_at(f"{study.name}/{campaign}/").values():
            written[campaign] = max(times)
    oldest_first = [CampaignKeys(study.name, campaign) for campaign in sorted(written, key=lambda each: written[each])]
    reported = [keys for keys in oldest_first if _is_reported(store, keys)]
    kept = {keys.campaign for keys in reported[-retention.campaigns :]} | _needed(store, study)
    before = now - timedelta(days=retention.days)
    return [keys for keys in oldest_first if written[keys.campaign] < before and keys.campaign not in kept]


def delete_campaign(store: Store, keys: CampaignKeys) -> None:
    """Delete a campaign.

    The frozen study is deleted first, so a half-deleted campaign is not listed; another call deletes the rest.
    """
    store.delete(keys.frozen_study())
    for key in store.keys(f"{keys.prefix}/"):
        store.delete(key)


def _is_reported(store: Store, keys: CampaignKeys) -> bool:
    return store.tag(keys.frozen_study()) is not None and bool(store.keys(keys.report("")))


def _needed(store: Store, study: Study) -> set[str]:
    """Return the campaigns that others need.

    These confirmed active settings or those that a rollback would restore, answered a check, whose ID they have, or
    are named for a warm start.
    """
    found = set(store.folders(CheckKeys.of_study(study.name)))
    for case in active_cases(store, study.name):
        kept = versions(store, study.name, case)
        if not kept:  # its folder has files but no version
            raise BadInputError(f"{InForceKeys(study.name, case).prefix}: has no version; remove the files there")
        back_to = {kept[-1].version, kept[-1].previous_version}
        found |= {each.campaign for each in kept if each.version in back_to}
    named = study.warm_start.campaigns if isinstance(study, Tune) and study.warm_start else []
    return found | set(named if isinstance(named, list) else [])
