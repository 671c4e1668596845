"""The text or the records that a campaign sends: in its store, or only their digest once the campaign has ended."""

from __future__ import annotations

import hashlib
import re

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError, MissingArtifactError
from kafka_pareto.storage.store import Store

_DIGEST = re.compile(rb"sha256:[0-9a-f]{64}\n")


def digest_of(text: str) -> bytes:
    """Return what the store keeps instead of a deleted text."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}\n".encode()


def stored_digest(store: Store, keys: CampaignKeys) -> bytes | None:
    """Return the digest of the campaign's text, deleted or not; None if it sends none."""
    try:
        stored = store.get(keys.payload())
    except MissingArtifactError:
        return None
    return stored if _DIGEST.fullmatch(stored) else digest_of(stored.decode())


def sent_text(campaign: Campaign) -> str:
    """Return the text.

    Raises:
        BadInputError: If it was deleted at the campaign's end.
    """
    stored = campaign.store.get(campaign.keys.payload())
    if _DIGEST.fullmatch(stored):
        raise BadInputError(
            f"{campaign.keys.prefix}: its records were deleted when it ended (workload.keep_sample: false); resume it "
            f"from its first step, {campaign.keys.first_step}, which stores them again"
        )
    return stored.decode()


def delete_unless_kept(campaign: Campaign) -> None:
    """Replace the text with its digest, unless the study keeps it. Call this once nothing sends it again."""
    digest = stored_digest(campaign.store, campaign.keys)
    if digest is not None and not campaign.study.keeps_text:
        campaign.store.put(campaign.keys.payload(), digest)
