"""Format levels, numbers, ratios and resources as short texts."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kafka_pareto.bottleneck.words import LABELS
from kafka_pareto.comparison.records import Estimate, Interval, Level, PartComparison
from kafka_pareto.study.declarations import drivers
from kafka_pareto.study.factors import FactorValue
from kafka_pareto.study.quantity import Quantity

NONE = "-"


def quantity_named(name: str) -> Quantity:
    """Return a quantity of any driver; an undeclared one has no label and no direction."""
    declared = (each for driver in drivers().values() for each in (*driver.quantities, *driver.derived_quantities))
    return next((each for each in declared if each.name == name), Quantity(name, float, may_be_missing=True))


def compared_quantities(part: PartComparison) -> list[Quantity]:
    """Return the tested quantities."""
    return [quantity_named(name) for name in part.compared]


def other_quantities(part: PartComparison) -> list[Quantity]:
    """Return the measured but untested quantities that have a label, in their driver's order."""
    measured = {name for level in part.levels for name in level.means}
    known = dict.fromkeys(name for level in part.levels for name in level.estimates if name in measured)
    return [each for name in known if (each := quantity_named(name)).label and name not in part.compared]


def directed_text(quantity: Quantity) -> str:
    """Return a quantity's label with its better direction in brackets, if any."""
    if quantity.maximised is None:
        return quantity.words
    return f"{quantity.words} ({'more' if quantity.maximised else 'less'} is better)"


def setting_text(values: Mapping[str, FactorValue]) -> str:
    """Format one value per factor, as in `batch.size 16384 with linger.ms 5`."""
    return " with ".join(f"{name} {value}" for name, value in values.items())


def factors_text(part: PartComparison) -> str:
    """Name the varied factors, as in `acks`, `batch.size x linger.ms` or, for a series, `topology along orders`."""
    return (" along " if part.kind == "series" else " x ").join(part.factors)


def fixed_text(part: PartComparison) -> str:
    """Return the part's deviations from the study in brackets after a space; empty without any."""
    return f" ({pairs_text(part.fixed)})" if part.fixed else ""


def pairs_text(values: Mapping[str, FactorValue]) -> str:
    """Enumerate settings, as in `acks 1, linger.ms 5`."""
    return ", ".join(f"{name} {value}" for name, value in values.items())


def level_text(level: Level) -> str:
    """Name a level by its values alone."""
    return " x ".join(str(value) for value in level.values.values())


def number_text(value: float) -> str:
    """Format with three significant digits, or all digits before the point."""
    return f"{value:,.{_decimals(value)}f}"


def mean_text(level: Level, quantity: Quantity) -> str:
    """Return mean ± standard deviation with equal decimals, and the number of repetitions if incomplete."""
    estimate = level.estimate(quantity.name)
    if estimate.mean is None:
        return NONE
    decimals = _decimals(estimate.mean.value)
    mean = f"{estimate.mean.value:,.{decimals}f}"
    spread = "" if estimate.sd is None else f" ± {estimate.sd:,.{decimals}f}"
    return f"{mean}{spread}{of_measured_text(level, estimate)}"


def of_measured_text(level: Level, estimate: Estimate) -> str:
    """Return how many valid repetitions have the quantity, as in ` (2 of 5)`; empty if all do."""
    valid = len(level.repetition_ids)
    return f" ({estimate.repetitions} of {valid})" if estimate.repetitions < valid else ""


def times_text(ratio: float) -> str:
    """Format a ratio with two decimals; more below 0.1, fewer from 10."""
    if 0 < ratio < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:,.{2 if ratio < 10 else 1}f}"


def ratio_text(interval: Interval | None, mark: str = "") -> str:
    """Return a ratio, its mark, and its 95 % interval in brackets if it has one."""
    if interval is None:
        return NONE
    if interval.low is None or interval.high is None:
        return f"{times_text(interval.value)}{mark}"
    return f"{times_text(interval.value)}{mark} ({times_text(interval.low)} to {times_text(interval.high)})"


def relative_text(estimate: Estimate) -> str:
    """Return how many times worse than the best level, with the standard deviation."""
    if estimate.relative is None:
        return NONE
    times = f"{estimate.relative:.2f}"
    return times if not estimate.relative_sd else f"{times} ± {estimate.relative_sd:.2f}"


def resource_text(code: str) -> str:
    """Name a verdict's resource as in a sentence; empty for no verdict."""
    return LABELS.get(code, code.replace("_", " "))


def resource_name(code: str) -> str:
    """Name a verdict's resource as in a table cell, without an article."""
    return resource_text(code).removeprefix("the ").removeprefix("a ")


def outcomes_text(level: Level) -> str:
    """Return which repetitions of a level did not count, and why; empty if all did."""
    lost = {outcome: number for outcome, number in level.outcomes.items() if outcome != "valid" and number}
    if not lost:
        return ""
    each = ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in lost.items())
    return f"{each} of {sum(level.outcomes.values())} repetitions"


def _decimals(value: float) -> int:
    size = abs(value)
    if size >= 100 or size == 0:
        return 0
    return 2 - math.floor(math.log10(size)) if size < 1 else 1 if size >= 10 else 2


def published_ratio(part: PartComparison, level: Level, name: str) -> float | None:
    """Return published value over published reference; None unless both are above zero."""
    value, reference = (each.published.get(name, 0.0) for each in (level, part.reference_of(level)))
    return value / reference if min(value, reference) > 0 else None
