"""The answer of a tuning campaign on one screen, and of a single case in one line."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.analysis.wording import joined
from kafka_pareto.decision.decision import Decision, Verdict
from kafka_pareto.report.reasons import headline_of
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.declarations import label_of, objective_named

_DECISIONS: dict[Verdict, str] = {"recommended": "change", "ask_a_person": "approval"}
_KEPT = "keep"


def answer_lines(decisions: Sequence[Decision], driver: Driver) -> list[str]:
    """Return the answer in 80 columns: for each case the decision, and both objectives of the plane before and after.

    The decision is the first word of the card's headline. A change is shown with its interval in percent.
    """
    measured = (f"{objective_named(name).axis_label}, change %" for name in driver.plane)
    header = (driver.case_words[0].split()[-1], "decision", *measured)
    rows = [header, *(_row(decision, driver) for decision in decisions)]
    added = [
        f"{case_label(decision.case)}: {objective_named(gain.objective).axis_label} {_change(gain)} %"
        for decision in decisions
        for gain in _added_gains(decision, driver)
    ]
    return [line.rstrip() for line in table_lines(rows, "left")] + added + [""] + _headlines(decisions)


def decision_line(decision: Decision, driver: Driver) -> str:
    """Return the decision and the pick's changes: `change, throughput +63 % [+30, +99], p95 latency -41 % [-50, -30]`.

    If the baseline is kept, it is marked as the pick's: `keep (pick: throughput +1 % [-31, +47])`. Without a known
    change, return the card's headline.
    """
    gains = [gain for gain in _plane_gains(decision, driver) if gain is not None] + _added_gains(decision, driver)
    changes = [f"{label_of(gain.objective)} {text}" for gain in gains if (text := _percent(gain, " %"))]
    if not changes:
        return headline_of(decision)
    if decision.verdict not in _DECISIONS:
        return f"{_KEPT} (pick: {', '.join(changes)})"
    return ", ".join([_DECISIONS[decision.verdict], *changes])


def _row(decision: Decision, driver: Driver) -> tuple[str, ...]:
    return (case_label(decision.case), _decided(decision), *map(_change, _plane_gains(decision, driver)))


def _decided(decision: Decision) -> str:
    return _DECISIONS.get(decision.verdict, _KEPT)


def _plane_gains(decision: Decision, driver: Driver) -> list[Gain | None]:
    gains = {gain.objective: gain for gain in decision.gains}
    return [gains.get(name) for name in driver.plane]


def _added_gains(decision: Decision, driver: Driver) -> list[Gain]:
    added = [each.name for each in driver.more_objectives]
    return [gain for gain in decision.gains if gain.objective in added]


def _change(gain: Gain | None) -> str:
    """Return before and after in three digits, and the change: `101 → 80.1, -21 [-30, -10]`."""
    if gain is None or gain.reference_value is None or gain.candidate_value is None:
        return "-"
    values = f"{_digits(gain.reference_value)} → {_digits(gain.candidate_value)}"
    percent = _percent(gain)
    return f"{values}, {percent}" if percent else values


def _percent(gain: Gain, unit: str = "") -> str:
    """Return the change, with this unit, and its interval, both in percent; empty if one of them is unknown."""
    if gain.change_fraction is None or gain.change_low_fraction is None or gain.change_high_fraction is None:
        return ""
    change, low, high = (
        f"{round(fraction * 100):+d}"  # an integer: -0.0 would show its sign
        for fraction in (gain.change_fraction, gain.change_low_fraction, gain.change_high_fraction)
    )
    return f"{change}{unit} [{low}, {high}]"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def _headlines(decisions: Sequence[Decision]) -> list[str]:
    """Return each decision in words, after the cases it applies to."""
    cases: dict[str, list[str]] = {}
    for decision in decisions:
        cases.setdefault(headline_of(decision), []).append(case_label(decision.case))
    return [f"{joined(named)}: {headline}" for headline, named in cases.items()]
