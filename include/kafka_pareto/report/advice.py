"""Summarize published advice: what was measured of it, and how the pick compares with the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.wording import interval_text, joined, percent, share
from kafka_pareto.campaign.advice import InCase
from kafka_pareto.decision.against_advice import AgainstAdvice
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.evidence import Evidence
from kafka_pareto.report.latency_breakdown import Row
from kafka_pareto.report.reasons import reference_words
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.configuration_words import configuration_words
from kafka_pareto.study.declarations import label_of
from kafka_pareto.study.factors import configuration_id


def advice_of(decision: Decision) -> list[str]:
    """Compare the pick with the best advice; empty if none was in the fresh blocks."""
    advice = decision.advice
    if advice is None:
        return []
    titles = f"{joined(advice.titles)} ({configuration_words(advice.configuration, ', ')})"
    if advice.in_place_of is None and advice.configuration_id == decision.pick_configuration_id:
        return [f"the pick is published advice: {titles}."]
    if advice.in_place_of is not None:
        words = configuration_words(advice.in_place_of, ", ")
        pick = f"The search's pick ({words}) {_shortfall(advice, decision)}: {_changes(advice.gains)}."
        return [f"the tested settings are the advice of {titles}. {pick}"]
    return [advice_sentence(titles, advice.gains, decision.harm_margin_fraction)]


def _shortfall(advice: AgainstAdvice, decision: Decision) -> str:
    """State why the advice replaced the pick."""
    if not advice.pick_was_offered:
        return f"was not recommended over {reference_words(decision)}; compared with the advice"
    if advice.standing(decision.harm_margin_fraction) == "worse":
        return "was worse"
    margin = share(decision.harm_margin_fraction)
    return f"could be more than {margin} worse than this advice (a higher confirmation.gain_blocks may rule this out)"


def advice_sentence(titles: str, gains: Sequence[Gain], margin_fraction: float) -> str:
    """Compare the pick's means with an advice, and name those that may be worse by more than the margin."""
    open_means = [label_of(gain.objective) for gain in gains if gain.may_be_worse_by(margin_fraction)]
    may_be_worse = f"{joined(open_means)} may be" if open_means else "no mean is"
    found = f"{_changes(gains)}; {may_be_worse} worse by more than {share(margin_fraction)}"
    return f"compared with the best advice, {titles}: {found}."


def _changes(gains: Sequence[Gain]) -> str:
    return "; ".join(
        f"{label_of(gain.objective)} {percent(gain.change_fraction)} ({interval_text(gain)})" for gain in gains
    )


def advice_rows(evidence: Evidence) -> list[Row]:
    """Return each advice's means over the baseline's by case, or why it was not measured, with a header."""
    if not evidence.advice.followed:
        return []
    rows: list[Row] = [("Advised by", "for", "settings", *map(case_label, evidence.study.cases))]
    for followed in evidence.advice.followed:
        words = configuration_words(followed.advice.properties, ", ")
        cells = [_measured(evidence, each) for each in followed.cases]
        rows.append((followed.advice.title, followed.advice.meant_for, words, *cells))
    return rows


def advice_sources(evidence: Evidence) -> list[str]:
    """List each advice's source and when it was read."""
    return [
        f"{each.advice.title}: {each.advice.source}, read on {each.advice.read_on}."
        f"{f' {each.advice.note}' if each.advice.note else ''}"
        for each in evidence.advice.followed
    ]


def _measured(evidence: Evidence, in_case: InCase) -> str:
    if in_case.configuration is None:
        return f"not measured: {in_case.left_out}"
    trials = evidence.trials[evidence.trials.case == in_case.case].set_index("configuration_id")
    identity, baseline_id = configuration_id(in_case.configuration), evidence.study.baseline_id()
    if identity not in trials.index or baseline_id not in trials.index:
        return "no valid repetition"
    own: Any = trials.loc[identity]
    baseline: Any = trials.loc[baseline_id]
    return ", ".join(f"{label_of(mean)} {percent(_change(own[mean], baseline[mean]))}" for mean in evidence.study.means)


def _change(value: float | None, baseline: float | None) -> float | None:
    return None if pd.isna(value) or pd.isna(baseline) or not baseline else float(value) / float(baseline) - 1
