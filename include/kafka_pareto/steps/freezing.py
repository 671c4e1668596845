"""Freeze a campaign's study, and check that a resumed campaign was started with the same one."""

from __future__ import annotations

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys, GateKeys
from kafka_pareto.campaign.sent_text import digest_of, stored_digest
from kafka_pareto.errors import BadInputError, MissingArtifactError
from kafka_pareto.storage.store import Store
from kafka_pareto.study.gate import Gate
from kafka_pareto.study.retune import Retune
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study, parse_study
from kafka_pareto.study.tune import Tune


def is_frozen(store: Store, keys: CampaignKeys, study: Study, corpus: str | None) -> bool:
    """Return whether the campaign exists.

    Raises:
        BadInputError: If it was started with another study, or with another text for its loads.
    """
    try:
        known = parse_study(store.get(keys.frozen_study()).decode(), keys.frozen_study())
    except MissingArtifactError:
        return False
    if _as_measured(known, keys) != _as_measured(study, keys):
        if isinstance(keys, GateKeys):
            raise BadInputError(
                f"gate {keys.campaign} was started with other settings, conditions or study values; resume it with the "
                "same files, or start a new gate without --resume"
            )
        raise BadInputError(
            f"campaign {keys.prefix} was started with other values of its study; "
            "resume it with the same values, or start a new campaign"
        )
    stored = stored_digest(store, keys)
    if stored is None and corpus is not None:
        raise BadInputError(f"campaign {keys.prefix}: its text is no longer in the store; start a new campaign")
    if stored != (None if corpus is None else digest_of(corpus)):
        raise BadInputError(
            f"campaign {keys.prefix} was started with another text in {study.text_key}; "
            "restore that text, or start a new campaign"
        )
    return True


def freeze(campaign: Campaign, corpus: str | None) -> None:
    """Store the loads' text, then the study: once the study is stored, the campaign exists."""
    keys, store = campaign.keys, campaign.store
    if corpus is not None:
        store.put(keys.payload(), corpus.encode())
    store.put(keys.frozen_study(), dump_study(campaign.study).encode())


def restore_text(campaign: Campaign, corpus: str | None) -> None:
    """Store the text of a resumed campaign again, in case it was deleted when the campaign ended."""
    if corpus is not None and not campaign.study.keeps_text:
        campaign.store.put(campaign.keys.payload(), corpus.encode())


def _as_measured(study: Study, keys: CampaignKeys) -> Study:
    """Return the study without what may change later: consent, retention, and what only checks and gates use."""
    study = study.model_copy(update={"retention": None})
    if isinstance(study, Tune):
        study = study.model_copy(update={"retune": Retune()})
        if not isinstance(keys, GateKeys):
            study = study.model_copy(update={"gate": Gate()})
    if study.cluster is None:
        return study
    return study.model_copy(update={"cluster": study.cluster.model_copy(update={"consent": False})})
