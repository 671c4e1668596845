"""Step `check_compare`: decide whether the active settings have drifted and are tuned again."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pydantic import JsonValue

from kafka_pareto.analysis.drift import RatioChange, adjusted, change_between
from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CheckKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.sent_text import delete_unless_kept
from kafka_pareto.decision.counts import counts_of
from kafka_pareto.drift.check_records import (
    TUNED_AGAIN,
    Check,
    CheckedCase,
    CheckOutcome,
    CheckPlan,
    PastCheck,
    PlannedCase,
    confirming_repetitions,
    count_checks,
    ratios_of,
    read_histories,
    reference_of,
)
from kafka_pareto.drift.messages import drift_reason, notice_of
from kafka_pareto.rollout.versions import ActiveSettings, now
from kafka_pareto.tracking import check_history

log = logging.getLogger(__name__)

_TOO_FEW = "fewer than two blocks have valid repetitions of both sides"
_NO_SPREAD = "all blocks are identical, so there is no spread to test a change against"
_NOTHING_YET = "this is the first result; later checks are compared with it"


def run(check: Campaign) -> Manifest:
    """Compare every measured case, and decide once which are tuned again.

    Raises:
        ArtifactError: If an earlier step's artifact is missing, damaged or of another schema version.
        TrackingError: If MLflow is configured and cannot be reached; the outcome is already stored.
    """
    key = CheckKeys(check.keys.study, check.keys.campaign).check()
    if check.store.tag(key) is None:
        # A late try must not overwrite the outcome that its retry announced.
        check.store.put_if(key, _decided(check).model_dump_json().encode(), None)
    decided = check.read_record(key, Check)
    delete_unless_kept(check)
    notice = notice_of(decided)
    log.info("%s\n%s", notice.subject, notice.text)  # before MLflow, so that an outage does not hide it
    _track(check, decided)
    tuned = [each.case for each in decided.cases if each.tune]
    counts = {"cases": len(decided.cases), "tuned_again": len(tuned)}
    manifest = check.manifest("check_compare", [key], counts, tuned)
    event = _event(check, decided, tuned) if tuned else {}
    return manifest.model_copy(update={"event": event, "notice": notice})


def _decided(check: Campaign) -> Check:
    plan, fraction = check.read_record(check.keys.plan(), CheckPlan), check.tune.drift_fraction()
    to_compare = {each.case: each for each in plan.cases if not each.outcome and each.settings}
    histories = read_histories(check.store, check.keys.study, to_compare)
    measured = [
        _Compared(check, each, each.settings, histories[case]) for case, each in to_compare.items() if each.settings
    ]
    judged = iter(adjusted([change for each in measured for change in each.changes(fraction)]))
    found = {
        each.planned.case: each.checked([next(judged) for _ in check.tune.means], SIGNIFICANCE / len(measured))
        for each in measured
    }
    return Check(
        study=check.keys.study,
        check=check.keys.campaign,
        at=now(),
        drift_fraction=fraction,
        cases=[found.get(each.case) or _not_measured(each) for each in plan.cases],
    )


class _Compared:
    """One measured case and its reference."""

    def __init__(
        self, check: Campaign, planned: PlannedCase, settings: ActiveSettings, history: Sequence[PastCheck]
    ) -> None:
        self.planned = planned
        self._means = check.tune.means
        self._settings = settings
        past = [each for each in history if each.check != check.keys.campaign]
        self._compared_with, self._reference = reference_of(check.store, settings, past)
        repetitions = confirming_repetitions(check, planned.case)
        discarded = check.read_repetitions(check.keys.confirmation(planned.case, "set_aside/"))
        self._found = ratios_of(repetitions, settings.configuration_id, check.tune)
        self._counts, self._baseline_counts = (
            counts_of(each, repetitions, discarded=discarded)
            for each in (settings.configuration_id, check.tune.baseline_id())
        )

    def changes(self, drift_fraction: float) -> list[RatioChange]:
        """Return one change per mean, in order."""
        return [
            change_between(objective, self._reference.get(objective), self._found.get(objective), drift_fraction)
            for objective in self._means
        ]

    def checked(self, changes: Sequence[RatioChange], level: float) -> CheckedCase:
        """Conclude from the changes, and from losses and failures; the latter are tested at this level."""
        outcome: CheckOutcome = "unchanged"
        if reasons := [*(drift_reason(change) for change in changes if change.drifted), *self._harm(level)]:
            outcome = "drifted"
        elif not self._found:
            outcome, reasons = "not_measured", [_TOO_FEW]
        elif not self._compared_with:
            outcome, reasons = "reference", [_NOTHING_YET]
        elif all(change.p_value is None for change in changes):
            outcome, reasons = "not_measured", [_NO_SPREAD]
        return CheckedCase(
            case=self.planned.case,
            version=self._settings.version,
            configuration_id=self._settings.configuration_id,
            outcome=outcome,
            tune=outcome in TUNED_AGAIN,
            reasons=reasons,
            compared_with=self._compared_with,
            changes=list(changes),
        )

    def _harm(self, level: float) -> list[str]:
        """List harm at any speed: lost records, or significantly more failures and disruptions of the cluster."""
        own, baseline = self._counts, self._baseline_counts
        failed = counted(own.failed_or_upset, "attempt")
        lost = counted(own.lost_records, "repetition")
        reasons = [f"records were lost or duplicated in {lost}"] if own.lost_records else []
        p_value = own.failing_more_p_value(baseline)
        if p_value is not None and p_value < level:
            others = f"{baseline.failed_or_upset:,} for the baseline"
            reasons.append(f"{failed} failed or disrupted the cluster, versus {others}")
        return reasons


def _not_measured(planned: PlannedCase) -> CheckedCase:
    outcome: CheckOutcome = planned.outcome or "not_measured"
    return CheckedCase(
        case=planned.case,
        version=planned.settings.version if planned.settings else None,
        configuration_id=planned.settings.configuration_id if planned.settings else None,
        outcome=outcome,
        tune=outcome in TUNED_AGAIN,
        reasons=planned.reasons,
    )


def _track(check: Campaign, decided: Check) -> None:
    cases = [each.case for each in decided.cases if each.changes]
    histories = read_histories(check.store, check.keys.study, cases)
    own = [each for history in histories.values() for each in history if each.check == decided.check]
    check_history.log_check(check.keys, own, count_checks(check.store, check.keys.study, decided.at))


def _event(check: Campaign, decided: Check, tuned: Sequence[str]) -> dict[str, JsonValue]:
    """Return the event for other DAGs, and `tune`: the parameters of the `tune_producer` run that follows."""
    study = check.tune
    tune: dict[str, JsonValue] = {
        "study": study.name,
        "campaign": decided.check,
        **study.case_overrides(tuned),
        "approval": study.retune.approval,
    }
    if study.strategy == "rounds":
        tune["warm_start"] = "latest"
    found: dict[str, JsonValue] = {
        str(each.case): {"outcome": each.outcome, "reasons": list(each.reasons)} for each in decided.cases if each.tune
    }
    return {"study": study.name, "check": decided.check, "cases": found, "tune": tune}
