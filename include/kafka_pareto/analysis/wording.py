"""Formats values, changes and criteria for a card: units, signs, and no more digits than they are worth. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.study.declarations import all_objectives, is_maximised, label_of, objective_named
from kafka_pareto.study.objectives import ChooseBy, Lexicographic, Limit, ObjectiveName, Weighted

_LARGEST_CHANGE_SHOWN = 99.0


def value_text(value: float | None, objective: ObjectiveName) -> str:
    """Returns an objective's value with its unit; no decimals from 1,000 on."""
    if value is None:
        return "-"
    unit = objective_named(objective).unit
    return f"{value:,.{0 if value >= 1000 else 1}f} {unit}" if unit else f"{value:.3f}"


def percent(fraction: float | None) -> str:
    """Returns a change in percent, always with its sign; no decimals from 100 % on."""
    return "-" if fraction is None else f"{_signed(fraction)} %"


def interval_text(gain: Gain) -> str:
    """Returns the text of the interval of a change."""
    if gain.change_low_fraction is None or gain.change_high_fraction is None:
        return "-"
    return f"{_signed(gain.change_low_fraction)} to {_signed(gain.change_high_fraction)} %"


def p_text(p_value: float | None) -> str:
    """Returns the text of a p-value, no finer than it is worth."""
    if p_value is None:
        return "-"
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def criterion_text(criterion: ChooseBy, means: Sequence[ObjectiveName]) -> str:
    """Says what a study chooses by.

    Args:
        criterion: As the study asks, or as the choice went.
        means: The objectives that are means; none where it is not known which were measured.
    """
    if isinstance(criterion, Weighted):
        return f"the weighted gains ({joined([f'{w:g} x {label_of(o)}' for o, w in criterion.weights.items()])})"
    if isinstance(criterion, Lexicographic):
        first, *others = (label_of(objective) for objective in criterion.lexicographic)
        within = f" among those within {criterion.within_fraction:.0%} of the best"
        return f"{first} first, then {', then '.join(others)}{within}" if others else f"{first} alone"
    more = [label_of(each) for each in means if is_maximised(each)]
    if criterion == "r1":
        return f"R1 ({more[0]} over its CV)" if more else "R1"
    labels = [*more, *(label_of(each) for each in means if not is_maximised(each))]
    return f"the balanced gain ({joined(labels)})" if labels else "the balanced gain"


def missed_limit_text(limit: Limit, value: float | None) -> str:
    """Says by how much a measured value misses a limit; None is a value that is not known."""
    if value is None:
        return f"{limit} (not known)"
    return f"{limit} ({value_text(value, limit.objective)}, {limit.excess_fraction(value):.1%} beyond)"


def role_text(role: str) -> str:
    """Says why a candidate was chosen."""
    words = {f"best_{each.name}": f"best {each.label}" for each in all_objectives()}
    words |= {"r1": "best throughput over its CV", "measured_non_dominated": "measured, non-dominated"}
    return words.get(role, role.replace("_", " "))


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun, whose plural ends in -s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def joined(words: Iterable[str], conjunction: str = "and") -> str:
    """Joins the words in one enumeration."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _signed(fraction: float) -> str:
    if fraction >= _LARGEST_CHANGE_SHOWN:
        return f">{_LARGEST_CHANGE_SHOWN * 100:,.0f}"
    return f"{fraction * 100:+,.{0 if abs(fraction) >= 1 else 1}f}"
