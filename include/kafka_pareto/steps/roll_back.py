"""Step `roll_back`: reactivate the settings that the newest version replaced."""

from __future__ import annotations

import logging
import re

from kafka_pareto.analysis.wording import joined
from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.campaign.manifest import Manifest, Notice
from kafka_pareto.errors import BadInputError
from kafka_pareto.rollout.eligibility import refuse_another_cluster
from kafka_pareto.rollout.messages import event_of, moved_text, standing_text
from kafka_pareto.rollout.versions import (
    active_cases,
    add_version,
    cluster_of_version,
    refuse_another_version,
    repair_files,
    versions,
    way_back,
    write_files,
)
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.identifiers import STUDY_NAME

logger = logging.getLogger(__name__)


def run(
    store: Store,
    study: str,
    case: str,
    *,
    by: str = "",
    reason: str = "",
    request: str = "",
    from_version: int | None = None,
    cluster: str | None = None,
) -> Manifest:
    """Roll back by one version, or from the first version to the baseline.

    Safe to run again with the same request: it announces its earlier rollback. Later rollbacks stay. See
    `study.options.Move` for the other arguments.

    Raises:
        BadInputError: If no settings or the baseline are active, if they belong to another cluster, or if they were
            changed meanwhile.
    """
    if not re.fullmatch(STUDY_NAME, study):
        raise BadInputError(f"--study: {study!r} is not a study name; it must match {STUDY_NAME}")
    repair_files(store, study, [case])
    kept = versions(store, study, case)
    if not kept:
        cases = active_cases(store, study)
        known = joined(map(case_label, cases)) if cases else "no case yet"
        raise BadInputError(
            f"--case: {case}: it has no active settings to roll back; study {study} has active settings for {known}"
        )
    refuse_another_cluster(cluster_of_version(store, kept[-1]), cluster)
    done = [settings.version for settings in kept if request and settings.request == request]
    if not done:
        refuse_another_version(kept, from_version)
        kept.append(way_back(kept, by=by, reason=reason, request=request))
        add_version(store, kept[-1])
        write_files(store, study, case)
    newest = kept[-1]
    moved = [] if done and done[-1] != newest.version else [newest]
    if moved:
        rolled_back = (
            f"rolled back to {'the baseline' if newest.is_baseline else 'earlier settings'} for {case_label(case)}"
        )
        notice = Notice(kind="in_force", subject=f"{study}: {rolled_back}", text=moved_text(kept))
    else:
        text = f"{standing_text(newest)} This request made version {done[-1]}, which was replaced later."
        notice = Notice(
            kind="unchanged", subject=f"{study}: the active settings stay for {case_label(case)}", text=text
        )
    logger.info("%s\n%s", notice.subject, notice.text)
    return Manifest(
        step="roll_back",
        study=study,
        campaign=newest.campaign,
        cases=[settings.case for settings in moved],
        artifacts=[InForceKeys(study, case).version(settings.version) for settings in moved],
        counts={"version": newest.version},
        event=event_of(study, moved),
        notice=notice,
    )
