"""Summarize a campaign's decision in up to three sentences and one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.wording import interval_text, joined, percent, resolution_text
from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.reasons import headline_of
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.declarations import label_of, objective_named
from kafka_pareto.study.objectives import ObjectiveName


@dataclass(frozen=True)
class OverviewRow:
    """One case in the overview: the decision, and each objective's change and resolution as texts."""

    case: str
    headline: str
    is_offered: bool
    cells: list[tuple[str, str]]


def overview(decisions: Sequence[Decision], objectives: Sequence[ObjectiveName]) -> list[OverviewRow]:
    """Return a row for each case, with a cell for each objective."""
    rows = []
    for decision in decisions:
        gains = {gain.objective: gain for gain in decision.gains}
        cells = [_cell(gains.get(objective)) for objective in objectives]
        rows.append(OverviewRow(decision.case, headline_of(decision), decision.offered, cells))
    return rows


def _cell(gain: Gain | None) -> tuple[str, str]:
    if gain is None:
        return "-", ""
    if gain.resolution in ("better", "worse"):
        return f"{percent(gain.change_fraction)} ({interval_text(gain)})", gain.resolution
    return resolution_text(gain), gain.resolution


def summary_sentences(decisions: Sequence[Decision], driver: Driver) -> list[str]:
    """Summarize the decision: what to change, its gains, its costs or risks."""
    changed = [decision for decision in decisions if decision.recommended]
    sentences = [part(decisions, changed, driver) for part in (_what, _benefit, _trade_off)]
    return [sentence for sentence in sentences if sentence]


def _what(decisions: Sequence[Decision], changed: Sequence[Decision], driver: Driver) -> str:
    asked = [case_label(decision.case) for decision in decisions if decision.verdict == "ask_a_person"]
    and_asks = f" Approval is required for {joined(asked)}." if asked else ""
    if not changed:
        without = " without approval" if asked else ""
        nothing = f"this campaign recommends no change for any {driver.case_words[0]}{without}"
        return f"Keep {_what_stays(decisions)}: {nothing}.{and_asks}"
    cases = joined(case_label(decision.case) for decision in changed)
    rest = [decision for decision in decisions if not decision.offered]
    if not rest and not asked:
        return f"Change the {driver.settings_word} for every {driver.case_words[0]}: {cases}."
    count = f"{len(changed)} of {driver.cases_text(len(decisions))}"
    stays = joined(case_label(decision.case) for decision in rest) if rest else ""
    keep = f", and keep {_what_stays(rest)} for {stays}" if rest else ""
    return f"Change the {driver.settings_word} for {count} ({cases}){keep}.{and_asks}"


def _what_stays(decisions: Sequence[Decision]) -> str:
    return "the active settings" if any(decision.in_force for decision in decisions) else "the baseline"


def _benefit(decisions: Sequence[Decision], changed: Sequence[Decision], driver: Driver) -> str:
    if not changed:
        if undecided := [d for d in decisions if d.verdict == "keep_not_enough_evidence"]:
            cases = f"{len(undecided)} of {driver.cases_text(len(decisions))}"
            return f"Not enough evidence for {cases}: {_too_little(undecided)}. Those picks are not recommended."
        if limited := sum(decision.verdict == "keep_limits_missed" for decision in decisions):
            return f"The study's limits are not met for {driver.cases_text(limited)}; see the cards."
        if any(decision.offered for decision in decisions):
            return "The picks improve an objective but need approval; see the cards for the reason."
        return f"No pick beat {_what_stays(decisions)} in fresh blocks."
    parts = []
    for objective in dict.fromkeys((*driver.plane, *(each.name for each in driver.all_objectives))):
        better = [
            gain.change_fraction
            for decision in changed
            for gain in decision.gains
            if gain.objective == objective and gain.resolution == "better" and gain.change_fraction is not None
        ]
        if better:
            at = f" (for {driver.cases_text(len(better))})" if len(better) < len(changed) else ""
            parts.append(f"{label_of(objective)} {_span(better)}{at}")
    return f"Compared with {_what_stays(changed)} in fresh blocks: {joined(parts)}."


def _too_little(undecided: Sequence[Decision]) -> str:
    """Return why cases are undecided: too few fresh blocks for the study, or for an interval."""
    short = [decision for decision in undecided if not decision.has_enough_blocks]
    found = [f"the study requires {short[0].minimum_blocks} fresh blocks and has {_range(short)}"] if short else []
    return "; ".join([*found, *(["too few blocks for an interval"] if len(short) < len(undecided) else [])])


def _trade_off(decisions: Sequence[Decision], changed: Sequence[Decision], driver: Driver) -> str:
    if not changed:
        lost = sum(decision.verdict == "keep_lost_records" for decision in decisions)
        failed = sum(decision.verdict == "keep_failed_more" for decision in decisions)
        found = [
            *([f"for {driver.cases_text(lost)} the pick lost or duplicated records"] if lost else []),
            *([f"for {driver.cases_text(failed)} the pick failed more often"] if failed else []),
        ]
        return f"{_capitalized(joined(found))}." if found else ""
    weaker = [d for d in changed if d.weaker_than_baseline or d.weaker_than_active]
    if weaker:
        than = "the active settings" if any(decision.weaker_than_active for decision in weaker) else "the baseline"
        return (
            f"Warning: for {joined(case_label(decision.case) for decision in weaker)} the recommended settings have a "
            f"weaker durability guarantee than {than}: records that are safe today can be lost. They become active "
            f"only after approval; {_cost(changed, driver)}."
        )
    kept = "The durability guarantee is not weakened, and " if driver.states_durability else ""
    return f"{_capitalized(kept + _cost(changed, driver))}."


def _cost(changed: Sequence[Decision], driver: Driver) -> str:
    """State what got worse, or may have."""
    worse = [[gain.objective for gain in decision.gains if gain.resolution == "worse"] for decision in changed]
    has_means = any(not objective_named(each).spread_of for found in worse for each in found)
    what = joined(dict.fromkeys(label_of(each) for found in worse for each in found)) if has_means else "variability"
    unsteady = sum(map(bool, worse))
    cost = f"{what} is worse for {driver.cases_text(unsteady)}" if unsteady else "no regressions were found"
    unknown = [
        [label_of(gain.objective) for gain in decision.main_gains if gain.resolution == "not resolved"]
        for decision in changed
    ]
    if not any(unknown):
        return cost
    labels = joined(dict.fromkeys(label for found in unknown for label in found))
    return f"{cost}, but {labels} is inconclusive for {driver.cases_text(sum(map(bool, unknown)))}"


def _capitalized(text: str) -> str:
    return text[0].upper() + text[1:]


def _range(decisions: Sequence[Decision]) -> str:
    low, high = (bound(decision.blocks_used for decision in decisions) for bound in (min, max))
    return f"{low}" if low == high else f"{low} to {high}"


def _span(changes: Sequence[float]) -> str:
    low, high = sorted((min(changes), max(changes)), key=abs)
    first, last = (f"{change * 100:+,.0f} %" for change in (low, high))
    return first if first == last else f"{first} to {last}"
