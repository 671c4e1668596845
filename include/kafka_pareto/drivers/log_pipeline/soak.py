"""Find drift over the windows of a soak test: of p99 latency, and of what each part holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

import numpy as np

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.paired_tests import CONFIDENCE, holm
from kafka_pareto.analysis.rounding import Values, has_spread
from kafka_pareto.analysis.student import student_above, student_critical
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.screen import fitting, listed
from kafka_pareto.comparison.words import number_text, quantity_named
from kafka_pareto.drivers.common.trend import LEAST_POINTS, trend_of
from kafka_pareto.drivers.log_pipeline.quantities import ResourceFigures

_AGE = "running_s"
QUANTITIES = ("latency_p99_ms", *(each.name for each in fields(ResourceFigures) if each.name != _AGE))
"""Quantities whose drift is tested."""
_WARMUP_FRACTION = 0.2
_LEAST_WARMUP = 2
_HOUR_S = 3600.0
LEAST_LINES = 4


@dataclass(frozen=True)
class Drift:
    """The slope of a quantity with its 95 % interval, in the quantity's unit per hour.

    Attributes:
        p_value_holm: Holm-adjusted p-value of the hypothesis of no drift, over all quantities; NaN for a constant.
    """

    quantity: str
    slope: float
    low: float
    high: float
    p_value_holm: float

    @property
    def is_significant(self) -> bool:
        """Return whether the quantity grows or falls."""
        return self.p_value_holm < SIGNIFICANCE


def series_of(repetitions: Sequence[Repetition], window_s: float) -> list[list[Repetition]]:
    """Group valid windows on the same running parts, in order, by when these parts started."""
    found: list[list[Repetition]] = []
    for each in sorted(repetitions, key=lambda each: each.block):
        if each.outcome != "valid" or not each.quantities.get(_AGE):
            continue
        if found and abs(_parts_started_s(each) - _parts_started_s(found[-1][-1])) < window_s / 2:
            found[-1].append(each)
        else:
            found.append([each])
    return found


def _parts_started_s(window: Repetition) -> float:
    """Return when the window's parts started, in seconds since 1970, to within the few that its end takes."""
    ended_s = datetime.fromisoformat(window.started_at).timestamp() + window.wall_s
    return ended_s - (window.number(_AGE) or 0.0)


def without_warmup(series: Sequence[Repetition]) -> list[Repetition]:
    """Return a series without its first windows, a fifth of them and at least two: heaps and caches fill in them."""
    return list(series[max(_LEAST_WARMUP, math.ceil(_WARMUP_FRACTION * len(series))) :])


def drifts_of(windows: Sequence[Repetition]) -> list[Drift]:
    """Return the drift of each quantity that was measured in all of these windows; empty if they are too few.

    All quantities are tested together: with 19 windows without drift, one is reported with a probability of at most 5 %
    if windows are independent, and of 10 % at an autocorrelation of 0.5.
    """
    if len(windows) < LEAST_POINTS:
        return []
    hours = np.array([each.number(_AGE) for each in windows], dtype=float) / _HOUR_S
    measured = {name: np.array([each.quantities.get(name) for each in windows], dtype=float) for name in QUANTITIES}
    found = [_drift_of(name, hours, values) for name, values in measured.items() if np.isfinite(values).all()]
    p_values = holm([each.p_value_holm for each in found])
    return [replace(each, p_value_holm=p_value) for each, p_value in zip(found, p_values, strict=True)]


def _drift_of(quantity: str, hours: Values, values: Values) -> Drift:
    """Return the drift of values at these ages, its p-value not yet adjusted."""
    if not has_spread(values):
        return Drift(quantity, 0.0, 0.0, 0.0, math.nan)
    trend = trend_of(hours, values)
    half_width = trend.error * float(student_critical((1 - CONFIDENCE) / 2, trend.freedom))
    t = abs(trend.slope) / trend.error if trend.error else math.inf
    p_value = float(2 * student_above(t, trend.freedom))
    return Drift(quantity, trend.slope, trend.slope - half_width, trend.slope + half_width, p_value)


def drift_lines(repetitions: Sequence[Repetition], window_s: float, most: int) -> list[str]:
    """Return the significant drifts of the longest series, a line each.

    `most` is the number of lines, at least `LEAST_LINES`.
    """
    series = series_of(repetitions, window_s)
    longest = max(series, key=len, default=[])
    windows = without_warmup(longest)
    lines = [_series_line(series, len(longest), len(windows))]
    drifts = drifts_of(windows)
    if not drifts:
        return [*lines, f"Too short to tell drift: {LEAST_POINTS} windows after the warm-up are needed"]
    significant = [each for each in drifts if each.is_significant]
    others = [quantity_named(each.quantity).words for each in drifts if not each.is_significant]
    closing = [listed("No significant drift: ", others)] if others else []
    missing = [quantity_named(name).words for name in QUANTITIES if name not in {each.quantity for each in drifts}]
    closing += [listed("Not measured in every window: ", missing)] if missing else []
    shown = [_drift_line(each) for each in significant]
    if len(shown) > (room := most - len(lines) - len(closing)):
        hidden = [quantity_named(each.quantity).words for each in significant[room - 1 :]]
        shown = [*shown[: room - 1], listed("Also significant: " if room > 1 else "Significant: ", hidden)]
    return [*lines, *shown, *closing]


def _series_line(series: Sequence[Sequence[Repetition]], longest: int, used: int) -> str:
    restarts = f" (longest of {len(series)} series)" if len(series) > 1 else ""
    return fitting(f"Drift over {used} of {longest} windows, without warm-up{restarts}:")


def _drift_line(drift: Drift) -> str:
    """Return the line of a drift: `Spark memory: +32.1 MiB per hour (95 % +30.2 to +34.0)`."""
    quantity = quantity_named(drift.quantity)
    value, low, high = (_signed(each) for each in (drift.slope, drift.low, drift.high))
    return fitting(f"{quantity.words}: {f'{value} {quantity.unit}'.rstrip()} per hour (95 % {low} to {high})")


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{number_text(abs(value))}"
