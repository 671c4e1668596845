"""Step `check`: decide which active settings to measure and which to tune again without a measurement."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.comparability import differences_of_campaigns, differences_of_systems
from kafka_pareto.campaign.keys import CheckKeys, InForceKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Fingerprint, Sizing
from kafka_pareto.campaign.sent_text import delete_unless_kept
from kafka_pareto.drift.check_records import (
    CheckPlan,
    PastCheck,
    PlannedCase,
    last_look,
    latest_check,
    outcome_text,
    read_histories,
    was_answered,
)
from kafka_pareto.errors import BadInputError
from kafka_pareto.measurement.cost import describe_plan, plan_check, require_consent
from kafka_pareto.measurement.driver_runtime import System, runtime_of
from kafka_pareto.rollout.versions import ActiveSettings, active_cases, active_settings_with_files
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label, in_order
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study_file import dump_study
from kafka_pareto.study.tune import Tune

log = logging.getLogger(__name__)


def run(store: Store, study: Tune, check_id: str, system: System, corpus: str | None = None) -> Manifest:
    """Begin a check or resume one; its plan is made once.

    Raises:
        PlanError: If it may not run as planned.
        ClusterError: If the system cannot be reached.
        BadInputError: If the active settings were confirmed on a cluster that the study does not name.
    """
    keys, cases = CheckKeys(study.name, check_id), active_cases(store, study.name)
    if store.tag(keys.plan()) is None:
        # Settings may be active for cases that only a campaign's options named.
        check = Campaign(with_overrides(study, in_order({*study.cases, *cases})), keys, store)
        plan = _begin(check, cases, system, corpus)
    else:
        check = Campaign.at(store, keys)
        plan = check.read_record(keys.plan(), CheckPlan)
    for planned in plan.cases:
        log.info("%s", _line(planned))
    if not cases:
        log.info("no settings are active for study %s yet: activate a campaign's recommendation first", study.name)
    to_measure = [planned.case for planned in plan.cases if planned.outcome is None]
    counts = {"record_sizes_in_force": len(cases), "record_sizes_to_measure": len(to_measure)}
    return check.manifest("check", [keys.frozen_study(), keys.plan()], counts, to_measure)


def _begin(check: Campaign, cases: Sequence[str], system: System, corpus: str | None) -> CheckPlan:
    store, keys = check.store, check.keys
    if corpus is None:
        return _planned_check(check, cases, system)
    store.put(keys.payload(), corpus.encode())  # compared with that of the active settings' campaign
    try:
        return _planned_check(check, cases, system)
    except BaseException:
        store.delete(keys.payload())  # the next check has another ID
        raise


def _planned_check(check: Campaign, cases: Sequence[str], system: System) -> CheckPlan:
    store, study, keys = check.store, check.tune, check.keys
    histories = read_histories(store, study.name, {*study.cases, *cases})
    planned = [_planned(check, case, system, histories[case]) for case in cases]
    planned += [
        PlannedCase(
            case=case,
            settings=None,
            outcome="new_record_size",
            reasons=["this case was added to the study since the last check"],
        )
        for case in _new_cases(check, histories)
    ]
    if to_measure := [each.case for each in planned if each.outcome is None]:
        plan = plan_check(study, runtime_of(study), to_measure)
        log.info("%s", describe_plan(plan))
        system.require_fit(plan, check, to_measure[0])
        require_consent(plan, study)
    store.put(keys.frozen_study(), dump_study(study).encode())
    decided = CheckPlan(cases=planned)
    check.write_record(keys.plan(), decided)
    if not to_measure:
        delete_unless_kept(check)
    return decided


def _planned(check: Campaign, case: str, system: System, past: Sequence[PastCheck]) -> PlannedCase:
    settings = active_settings_with_files(check.store, check.keys.study, case)
    if settings is None:  # its folder has files but no version
        raise BadInputError(f"{InForceKeys(check.keys.study, case).prefix}: has no version; remove the files there")
    now = system.fingerprint(check, case)
    check.write_record(check.keys.fingerprint(case), now)
    planned = PlannedCase(case=case, settings=settings)
    if check.tune.is_baseline(settings.properties):
        why = f"version {settings.version} is the baseline, so there is no other configuration to compare"
        return planned.model_copy(update={"outcome": "baseline_in_force", "reasons": [why]})
    differences = _differences(check, settings, past, now)
    return planned.model_copy(update={"outcome": "not_comparable", "reasons": differences}) if differences else planned


def _differences(check: Campaign, settings: ActiveSettings, past: Sequence[PastCheck], now: Fingerprint) -> list[str]:
    """List the differences that make this check incomparable with these settings' last one; empty if comparable."""
    case = settings.case
    try:
        last = Campaign.at(check.store, last_look(check.store, settings, past))
    except BadInputError as error:
        raise BadInputError(
            f"{case_label(case)}: campaign {settings.campaign}, which confirmed the active version {settings.version}, "
            "is no longer in the store; restore it, or activate settings of another campaign"
        ) from error
    if last.study.cluster is not None and check.study.cluster is None:
        raise BadInputError(
            f"{check.study.name}.yaml: cluster: is missing: the active settings for {case_label(case)} were "
            f"confirmed on {last.study.cluster.bootstrap_servers}; name that cluster in the study, with the "
            "ceilings and the consent for its checks"
        )
    differences = differences_of_campaigns(last, check)
    differences += differences_of_systems(
        last.read_record(last.keys.fingerprint(case), Fingerprint), now, check.study.declaration
    )
    if not differences:
        if sizing := last.find_record(last.keys.sizing(case), Sizing):
            check.write_record(check.keys.sizing(case), sizing)
        else:
            log.info("%s: sized again, because the cluster or the study has changed", case_label(case))
    return differences


def _new_cases(check: Campaign, histories: Mapping[str, Sequence[PastCheck]]) -> list[str]:
    """Return the study's cases that were added since the last check."""
    store, study = check.store, check.keys.study
    last = latest_check(store, study)
    known = set(check.study.cases if last is None else last.study.cases)
    for case in known & set(check.study.cases):
        past = histories[case]
        if past and past[-1].outcome == "new_record_size" and not was_answered(store, study, past[-1]):
            known.remove(case)
    return [case for case in check.study.cases if case not in {*known, *active_cases(store, study)}]


def _line(planned: PlannedCase) -> str:
    version = planned.settings and planned.settings.version
    known = outcome_text(planned.outcome) if planned.outcome else f"version {version} to be measured"
    return "; ".join([f"{case_label(planned.case)}: {known}", *planned.reasons])
