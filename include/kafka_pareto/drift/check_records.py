"""Store and read checks of the active settings: their results and their references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import Field, computed_field

from kafka_pareto.analysis.drift import Ratio, RatioChange, change_points, ratio_of
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys, CheckKeys
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.rollout.versions import ActiveSettings
from kafka_pareto.storage.record import Frozen, Record, decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

CheckOutcome = Literal[
    "unchanged", "drifted", "reference", "not_comparable", "new_record_size", "baseline_in_force", "not_measured"
]
TUNED_AGAIN: tuple[CheckOutcome, ...] = ("drifted", "not_comparable", "new_record_size")

_OUTCOME_TEXTS: dict[CheckOutcome, str] = {
    "unchanged": "no drift",
    "new_record_size": "new case",
    "baseline_in_force": "baseline active",
}

# After one of these outcomes, later checks are not compared with earlier ones.
_NEW_LEVEL: tuple[CheckOutcome, ...] = ("reference", "not_comparable")


class PlannedCase(Frozen):
    """A check's plan for one case: its active settings, and the outcome if known without measuring."""

    case: str
    settings: ActiveSettings | None
    outcome: CheckOutcome | None = None
    reasons: list[str] = Field(default_factory=list)


class CheckPlan(Record):
    """A check's plan, decided once."""

    cases: list[PlannedCase]


class CheckedCase(Frozen):
    """The result of a check for one case; a None version means that no settings are active.

    Attributes:
        outcome: `reference`: no earlier result; later checks are compared with this one. `not_comparable`:
            the cluster or the study has changed since the settings were measured. `not_measured`: too few valid
            repetitions.
        compared_with: The reference campaign or check, if any.
        changes: One per mean; empty without measurements.
    """

    case: str
    version: int | None
    configuration_id: str | None
    outcome: CheckOutcome
    tune: bool
    reasons: list[str]
    compared_with: str = ""
    changes: list[RatioChange] = Field(default_factory=list)

    @property
    def ratios(self) -> dict[ObjectiveName, Ratio]:
        """Return the measured ratios."""
        return {change.objective: change.found for change in self.changes if change.found is not None}


class Check(Record):
    """The results of a check; `drift_fraction` is the smallest change that counts as drift."""

    study: str
    check: str
    at: str
    drift_fraction: float
    cases: list[CheckedCase]


class PastCheck(CheckedCase):
    """One check in the history of a case.

    At a `change_point` the ratio left the level that the confirmation and all checks of this version had since the last
    change point.
    """

    check: str
    at: str
    drift_fraction: float
    change_point: bool = False

    @computed_field
    def outcome_text(self) -> str:
        """Return the outcome in words."""
        return outcome_text(self.outcome)


def outcome_text(outcome: CheckOutcome) -> str:
    """Return an outcome in words. "No drift" means that no change is significant."""
    return _OUTCOME_TEXTS.get(outcome, outcome.replace("_", " "))


def read_checks(store: Store, study: str, case: str) -> list[PastCheck]:
    """Return the history of a case, the oldest check first."""
    return read_histories(store, study, [case])[case]


def read_histories(store: Store, study: str, cases: Iterable[str]) -> dict[str, list[PastCheck]]:
    """Return the history of each of these cases, the oldest check first, but read every check only once."""
    found: dict[str, list[PastCheck]] = {case: [] for case in cases}
    for check in _all_checks(store, study):
        for each in check.cases:
            if each.case in found:
                past = PastCheck(**dict(each), check=check.check, at=check.at, drift_fraction=check.drift_fraction)
                found[each.case].append(past)
    return {
        case: [marked for run in _runs(history) for marked in _with_change_points(run)]
        for case, history in found.items()
    }


def reference_of(
    store: Store, settings: ActiveSettings, past: Iterable[PastCheck]
) -> tuple[str, dict[ObjectiveName, Ratio]]:
    """Return the campaign or check to compare with, and its ratios; "" and none if there is none yet.

    The reference is the final blocks of the confirmation that activated these settings, or its gain blocks if it has
    none; choice blocks favor the configuration selected by them. Settings without either are compared with their first
    check. If a tuning has followed a drift and the settings stayed active, the check that found the drift is the
    reference for the drifted objectives. Until then, later checks report the drift again. `past` is oldest first.
    """
    campaign = Campaign.open(store, settings.study, settings.campaign)
    ratios = ratios_of(confirming_repetitions(campaign, settings.case), settings.configuration_id, campaign.tune)
    compared_with = f"campaign {settings.campaign}" if ratios else ""
    for each in past:
        if each.version != settings.version:
            continue
        if each.outcome == "not_comparable":
            compared_with, ratios = "", {}
        elif each.outcome == "reference":
            compared_with, ratios = f"check {each.check}", each.ratios
        elif any(change.drifted for change in each.changes) and was_answered(store, settings.study, each):
            drifted = {change.objective for change in each.changes if change.drifted}
            ratios |= {name: ratio for name, ratio in each.ratios.items() if name in drifted}
            compared_with = f"check {each.check}"
    return compared_with, ratios


def was_answered(store: Store, study: str, check: PastCheck) -> bool:
    """Return whether the tuning that a check started has written its report."""
    return store.tag(CampaignKeys(study, check.check).report("cards.json")) is not None


def confirming_repetitions(campaign: Campaign, case: str) -> list[Repetition]:
    """Return the repetitions behind the stated gains of a campaign or check.

    These are the final blocks, or the gain blocks if no gain was claimed or the release had no final blocks.
    """
    found = campaign.read_repetitions(campaign.keys.confirmation(case, "repetitions/"))
    return [each for each in found if each.phase == "final"] or [each for each in found if each.phase == "gain"]


def ratios_of(repetitions: Sequence[Repetition], configuration_id: str, study: Tune) -> dict[ObjectiveName, Ratio]:
    """Return the configuration's ratios to the baseline in the means, as far as they can be computed."""
    ratios = {objective: ratio_of(objective, repetitions, configuration_id, study) for objective in study.means}
    return {objective: ratio for objective, ratio in ratios.items() if ratio is not None}


def last_look(store: Store, settings: ActiveSettings, past: Sequence[PastCheck]) -> CampaignKeys:
    """Return the last check, or else the campaign, that recorded the settings' study and cluster.

    A change without a finished tuning does not become the new reference.
    """
    checks = [
        each.check
        for each in past
        if each.version == settings.version
        and (each.outcome != "not_comparable" or was_answered(store, settings.study, each))
    ]
    return CheckKeys(settings.study, checks[-1]) if checks else CampaignKeys(settings.study, settings.campaign)


def latest_check(store: Store, study: str) -> Campaign | None:
    """Return the newest completed check, if any."""
    checks = _all_checks(store, study)
    return Campaign.at(store, CheckKeys(study, checks[-1].check)) if checks else None


def count_checks(store: Store, study: str, up_to: str) -> int:
    """Return the number of checks completed by this time (ISO 8601)."""
    return sum(check.at <= up_to for check in _all_checks(store, study))


def _all_checks(store: Store, study: str) -> list[Check]:
    """Return every completed check, the oldest first."""
    keys = [CheckKeys(study, name).check() for name in store.folders(CheckKeys.of_study(study))]
    found = []
    for key in keys:
        with suppress(MissingArtifactError):  # still running
            found.append(decode_record(store.get(key), key, Check))
    return sorted(found, key=lambda check: check.at)


def _runs(history: Sequence[PastCheck]) -> list[list[PastCheck]]:
    """Split the history at each new version and each check that cannot be compared with earlier ones."""
    runs: list[list[PastCheck]] = []
    for each in history:
        if not runs or each.version != runs[-1][-1].version or each.outcome in _NEW_LEVEL:
            runs.append([])
        runs[-1].append(each)
    return runs


def _with_change_points(run: Sequence[PastCheck]) -> list[PastCheck]:
    measured = [each for each in run if each.ratios]
    if not measured:
        return list(run)
    confirmed = {change.objective: change.reference for change in measured[0].changes if change.reference is not None}
    history = [(confirmed, measured[0].drift_fraction), *((each.ratios, each.drift_fraction) for each in measured)]
    left = dict(zip((each.check for each in measured), change_points(history)[1:], strict=True))
    return [each.model_copy(update={"change_point": left.get(each.check, False)}) for each in run]
