"""Step `check`: which settings in force are to be measured, and which are tuned again without measuring."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CheckKeys, InForceKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Fingerprint, Sizing
from kafka_pareto.drift.checks import (
    CheckPlan,
    PastCheck,
    PlannedRecordSize,
    last_look,
    latest_check,
    read_checks,
    was_answered,
)
from kafka_pareto.errors import BadInputError, MissingArtifactError
from kafka_pareto.history.comparability import differences_of_campaigns, differences_of_clusters
from kafka_pareto.kafka.cluster import Cluster, ClusterDescription
from kafka_pareto.measurement.cost import check_plan, describe_plan, plan_check
from kafka_pareto.measurement.fingerprint import fingerprint_of
from kafka_pareto.measurement.testbed import topic_name
from kafka_pareto.rollout.versions import SettingsInForce, in_force, record_sizes_in_force
from kafka_pareto.storage.store import Store
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study, with_overrides

log = logging.getLogger(__name__)


def run(store: Store, study: Study, check_id: str, cluster: Cluster, corpus: str | None = None) -> Manifest:
    """Begins a check, or goes on with one that was begun: what it does is decided once.

    Args:
        store: Where settings in force, campaigns and checks lie.
        study: The study as it is now.
        check_id: The check's id within the study.
        cluster: The cluster that the study is about.
        corpus: The text that records are cut from, where the study names a file (`read_corpus`).

    Raises:
        PlanError: If it may not run as planned.
        ClusterError: If the cluster cannot be reached.
        BadInputError: If the settings in force were confirmed on a cluster that the study does not name.
    """
    keys, sizes = CheckKeys(study.name, check_id), record_sizes_in_force(store, study.name)
    if store.tag(keys.plan()) is None:
        # Settings may be in force at record sizes that a campaign was asked for, and no study names.
        check = Campaign(with_overrides(study, sorted({*study.record_sizes_bytes, *sizes})), keys, store)
        plan = _begin(check, sizes, cluster, corpus)
    else:
        check = Campaign.at(store, keys)
        plan = check.read_record(keys.plan(), CheckPlan)
    for planned in plan.record_sizes:
        log.info("%s", _line(planned))
    if not sizes:
        log.info("nothing is in force for study %s yet: accept what a campaign recommends first", study.name)
    to_measure = [planned.record_size_bytes for planned in plan.record_sizes if planned.outcome is None]
    counts = {"record_sizes_in_force": len(sizes), "record_sizes_to_measure": len(to_measure)}
    return check.manifest("check", [keys.frozen_study(), keys.plan()], counts, to_measure)


def _begin(check: Campaign, sizes: Sequence[int], cluster: Cluster, corpus: str | None) -> CheckPlan:
    store, study, keys = check.store, check.study, check.keys
    description = cluster.describe()
    log.info("cluster %s, Kafka %s", description.cluster_id, description.kafka_version)
    if corpus is not None:
        store.put(keys.payload(), corpus.encode())
    planned = [_planned(check, size, description) for size in sizes]
    planned += [
        PlannedRecordSize(
            record_size_bytes=size,
            settings=None,
            outcome="new_record_size",
            reasons=["the study has had this record size only since the last check"],
        )
        for size in _new_record_sizes(check)
    ]
    if to_measure := [each.record_size_bytes for each in planned if each.outcome is None]:
        plan = plan_check(study, to_measure)
        log.info("%s", describe_plan(plan))
        check_plan(plan, study, cluster.log_dirs(topic_name(keys, to_measure[0])))
    store.put(keys.frozen_study(), dump_study(study).encode())
    decided = CheckPlan(record_sizes=planned)
    check.write_record(keys.plan(), decided)
    return decided


def _planned(check: Campaign, record_size_bytes: int, description: ClusterDescription) -> PlannedRecordSize:
    settings = in_force(check.store, check.keys.study, record_size_bytes)
    if settings is None:  # its folder holds files alone
        raise BadInputError(
            f"{InForceKeys(check.keys.study, record_size_bytes).prefix}: holds no version; remove what is there"
        )
    past = read_checks(check.store, check.keys.study, record_size_bytes)
    now = fingerprint_of(description, check.study, topic_name(check.keys, record_size_bytes))
    check.write_record(check.keys.fingerprint(record_size_bytes), now)
    planned = PlannedRecordSize(record_size_bytes=record_size_bytes, settings=settings)
    if settings.is_baseline:
        why = f"version {settings.version} is the baseline: there is nothing to compare it with"
        return planned.model_copy(update={"outcome": "baseline_in_force", "reasons": [why]})
    differences = _differences(check, settings, past, now)
    return planned.model_copy(update={"outcome": "not_comparable", "reasons": differences}) if differences else planned


def _differences(check: Campaign, settings: SettingsInForce, past: Sequence[PastCheck], now: Fingerprint) -> list[str]:
    """What makes this check and the last look at these settings incomparable; where nothing does, both load alike."""
    size = settings.record_size_bytes
    try:
        last = Campaign.at(check.store, last_look(check.store, settings, past))
    except BadInputError as error:
        raise BadInputError(
            f"{size} B: version {settings.version} is in force by campaign {settings.campaign}, which is no longer in "
            "the store, so there is nothing to compare it with; put it back, or accept what another campaign confirmed"
        ) from error
    if last.study.cluster is not None and check.study.cluster is None:
        raise BadInputError(
            f"{check.study.name}.yaml: cluster: is missing: the settings in force for {size} B were confirmed on "
            f"{last.study.cluster.bootstrap_servers}; name that cluster in the study, with the ceilings and the "
            "consent that its checks may count on"
        )
    differences = differences_of_campaigns(last, check)
    differences += differences_of_clusters(last.read_record(last.keys.fingerprint(size), Fingerprint), now)
    if not differences:
        try:
            check.write_record(check.keys.sizing(size), last.read_record(last.keys.sizing(size), Sizing))
        except MissingArtifactError:
            log.info("%s B: sized anew, as nothing was measured since the cluster or the study changed", size)
    return differences


def _new_record_sizes(check: Campaign) -> list[int]:
    """Those that the study has now, and had not at the last check: a campaign may have been asked for fewer."""
    store, study = check.store, check.keys.study
    last = latest_check(store, study)
    known = set(check.study.record_sizes_bytes if last is None else last.study.record_sizes_bytes)
    for size in known & set(check.study.record_sizes_bytes):
        past = read_checks(store, study, size)
        if past and past[-1].outcome == "new_record_size" and not was_answered(store, study, past[-1]):
            known.remove(size)
    return [
        size for size in check.study.record_sizes_bytes if size not in {*known, *record_sizes_in_force(store, study)}
    ]


def _line(planned: PlannedRecordSize) -> str:
    what = "is measured" if planned.settings is None else f"version {planned.settings.version} is measured"
    known = planned.outcome.replace("_", " ") if planned.outcome else what
    return "; ".join([f"{planned.record_size_bytes:,} B: {known}", *planned.reasons])
