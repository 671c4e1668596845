"""Format the results of a check for the task's log and for notices."""

from __future__ import annotations

from kafka_pareto.analysis.drift import Ratio, RatioChange
from kafka_pareto.analysis.wording import counted, joined, percent
from kafka_pareto.campaign.manifest import Notice
from kafka_pareto.drift.check_records import Check, CheckedCase, CheckOutcome, outcome_text
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declarations import label_of

_TUNED_BECAUSE: dict[CheckOutcome, str] = {
    "drifted": "drift",
    "not_comparable": "cluster or study changed",
    "new_record_size": "new case",
}


def notice_of(check: Check) -> Notice:
    """Return the notice: one line, then every case with its numbers."""
    tuned = [case_label(each.case) for each in check.cases if each.tune]
    why = [words for outcome, words in _TUNED_BECAUSE.items() if any(e.outcome == outcome for e in check.cases)]
    unchanged = [case_label(each.case) for each in check.cases if each.outcome == "unchanged"]
    if tuned:
        what = f"{joined(why)}: tuning again at {joined(tuned)}"
    elif not check.cases:
        what = "no settings are active, so no check was needed"
    elif unchanged:
        what = f"no drift at {joined(unchanged)}"
    else:
        what = "no comparison was possible"
    if unmeasured := [case_label(e.case) for e in check.cases if e.outcome == "not_measured"]:
        what += f"; measurement failed at {joined(unmeasured)}"
    text = "\n".join(line for each in check.cases for line in _lines(each))
    return Notice(kind="drift" if tuned else "unchanged", subject=f"{check.study}: {what}", text=text)


def drift_reason(change: RatioChange) -> str:
    """Explain why a change is drift."""
    return f"{label_of(change.objective)}: {_change_text(change)}"


def _lines(checked: CheckedCase) -> list[str]:
    version = "" if checked.version is None else f", version {checked.version}"
    against = f", against {checked.compared_with}" if checked.compared_with else ""
    head = f"{case_label(checked.case)}{version}{against}: {outcome_text(checked.outcome)}"
    numbers = [f"  {label_of(change.objective)}: {_change_text(change)}" for change in checked.changes]
    shown = {drift_reason(change) for change in checked.changes}
    return [head, *numbers, *(f"  {reason}" for reason in checked.reasons if reason not in shown)]


def _change_text(change: RatioChange) -> str:
    if change.found is None:
        return "not measured"
    found = f"active / baseline {_ratio_text(change.found)}"
    if change.reference is None:
        return found
    interval = ""
    if change.change_low_fraction is not None:
        interval = f" ({percent(change.change_low_fraction)} to {percent(change.change_high_fraction)})"
    verdict = "not tested" if change.p_value is None else "drift" if change.drifted else "no drift"
    return (
        f"{found}, previously {_ratio_text(change.reference)}: {percent(change.change_fraction)}{interval}, {verdict}"
    )


def _ratio_text(ratio: Ratio) -> str:
    return f"{ratio.ratio:.2f} in {counted(ratio.blocks, 'block')}"
