"""Step `clean_up`: delete campaigns that have expired under their study's `retention`."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.errors import BadInputError
from kafka_pareto.rollout.retention import delete_campaign, expired_campaigns
from kafka_pareto.storage.store import Store
from kafka_pareto.study.study_file import load_named_study

log = logging.getLogger(__name__)


def run(store: Store, studies: Path, now: datetime | None = None) -> Manifest:
    """Delete the expired campaigns of all studies in this folder, except of those that cannot be read.

    Raises:
        BadInputError: At the end, if a study or its active settings could not be read.
    """
    deleted, problems = [], []
    for file in sorted(studies.glob("*.yaml")):
        try:
            study = load_named_study(studies, file.stem)
            if study.retention is None:
                continue
            for keys in expired_campaigns(store, study, study.retention, now or datetime.now(UTC)):
                delete_campaign(store, keys)
                deleted.append(keys.prefix)
                log.info("deleted campaign %s of study %s", keys.campaign, keys.study)
        except BadInputError as error:
            problems.append(str(error))
    if problems:
        raise BadInputError("\n".join(problems))
    log.info("%s deleted", counted(len(deleted), "campaign"))
    return Manifest(
        step="clean_up", study="", campaign="", cases=[], artifacts=deleted, counts={"campaigns_deleted": len(deleted)}
    )
