"""Format values, changes and criteria for a card: units, signs and significant digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafka_pareto.study.declarations import all_objectives, is_maximised, label_of, objective_named
from kafka_pareto.study.objectives import ChooseBy, Lexicographic, Limit, ObjectiveName, Weighted

if TYPE_CHECKING:  # SciPy takes a fifth of the start-up time of a measuring step
    from kafka_pareto.analysis.gains import Gain

_LARGEST_CHANGE_SHOWN = 99.0


def value_text(value: float | None, objective: ObjectiveName) -> str:
    """Format an objective's value with its unit; no decimals from 1,000."""
    if value is None:
        return "-"
    unit = objective_named(objective).unit
    return f"{value:,.{0 if value >= 1000 else 1}f} {unit}" if unit else f"{value:.3f}"


def share(fraction: float | None, decimals: int = 0) -> str:
    """Format a share, or the size of a change, in percent."""
    return "-" if fraction is None else f"{fraction * 100:,.{decimals}f} %"


def percent(fraction: float | None) -> str:
    """Format a change in percent with its sign; no decimals from 100 %."""
    return "-" if fraction is None else f"{_signed(fraction)} %"


def interval_text(gain: Gain) -> str:
    """Format the interval of a change."""
    if gain.change_low_fraction is None or gain.change_high_fraction is None:
        return "-"
    return f"{_signed(gain.change_low_fraction)} to {_signed(gain.change_high_fraction)} %"


def p_text(p_value: float | None) -> str:
    """Format a p-value with three decimals at most."""
    if p_value is None:
        return "-"
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def criterion_text(criterion: ChooseBy, means: Sequence[ObjectiveName]) -> str:
    """Describe the criterion that a study chooses by; `means` may be empty if unknown."""
    if isinstance(criterion, Weighted):
        return f"the weighted gains ({joined([f'{w:g} x {label_of(o)}' for o, w in criterion.weights.items()])})"
    if isinstance(criterion, Lexicographic):
        first, *others = (label_of(objective) for objective in criterion.lexicographic)
        within = f" among those within {share(criterion.within_fraction)} of the best"
        return f"{first} first, then {', then '.join(others)}{within}" if others else f"{first} alone"
    more = [label_of(each) for each in means if is_maximised(each)]
    if criterion == "r1":
        return f"R1 ({more[0]} over its CV)" if more else "R1"
    labels = [*more, *(label_of(each) for each in means if not is_maximised(each))]
    return f"the balanced gain ({joined(labels)})" if labels else "the balanced gain"


def missed_limit_text(limit: Limit, value: float | None) -> str:
    """Describe by how much a measured value misses a limit; None is unknown."""
    if value is None:
        return f"{limit} (unknown)"
    return f"{limit} ({value_text(value, limit.objective)}, {share(limit.excess_fraction(value), 1)} beyond)"


def role_text(role: str) -> str:
    """Describe why a candidate was chosen."""
    words = {f"best_{each.name}": f"best {each.label}" for each in all_objectives()}
    words |= {"r1": "best throughput over its CV", "measured_non_dominated": "measured, non-dominated"}
    return words.get(role, role.replace("_", " "))


RESOLUTION_WORDS = {"no difference shown": "no difference", "not resolved": "inconclusive"}
"""Words for the results of a gain's interval; better and worse are used unchanged."""


def resolution_text(gain: Gain) -> str:
    """Return the result of the gain's interval, in one or two words."""
    return RESOLUTION_WORDS.get(gain.resolution, gain.resolution)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural ends in -s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def joined(words: Iterable[str], conjunction: str = "and") -> str:
    """Join the words in one enumeration."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _signed(fraction: float) -> str:
    if fraction >= _LARGEST_CHANGE_SHOWN:
        return f">{_LARGEST_CHANGE_SHOWN * 100:,.0f}"
    return f"{fraction * 100:+,.{0 if abs(fraction) >= 1 else 1}f}"
