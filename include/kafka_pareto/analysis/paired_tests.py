"""Test whether a candidate differs from the baseline, or any reference, in the blocks that measured both.

Changes are fractions of the baseline: +0.25 is 25 % more. Intervals are 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafka_pareto.analysis.rounding import ROUNDING, Values, has_spread
from kafka_pareto.analysis.student import student

CONFIDENCE = 0.95
MINIMUM_BLOCKS = 2
_NAN = float("nan")


@dataclass(frozen=True)
class Change:
    """Candidate over baseline, minus one, with its interval and the two-sided p-value of no change; NaN if unknown."""

    change_fraction: float
    low_fraction: float = _NAN
    high_fraction: float = _NAN
    p_value: float = _NAN


@dataclass(frozen=True)
class EffectSizes:
    """Unpaired effect sizes; NaN if unknown.

    Hedges' g is corrected for small samples. Cliff's delta (Psychological Bulletin 114, 1993) is the share of pairs in
    which the candidate is larger, less that in which it is smaller: Mann and Whitney's U scaled to -1 … 1.
    """

    hedges_g: float = _NAN
    cliffs_delta: float = _NAN


def mean_change(baseline: Values, candidate: Values) -> Change:
    """Return the change of the mean, from differences within blocks; both sides have shape (blocks,).

    The log-ratio of the two means is tested with the standard error of the linearised ratio estimator (Cochran,
    Sampling Techniques, 3rd ed., section 6.5). Each block gives one difference, each side over its own mean, so a
    block's effect on both sides cancels; the interval is Student's. If the sides are in proportion, as latencies in
    whole milliseconds may be, there is no interval and the p-value is the sign test's.
    """
    if not len(baseline):
        return Change(_NAN)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(np.mean(candidate) / np.mean(baseline))
        scaled = np.stack([baseline / np.mean(baseline), candidate / np.mean(candidate)])
    change_fraction = float(np.expm1(log_ratio))
    if len(baseline) < MINIMUM_BLOCKS or not np.isfinite(log_ratio):
        return Change(change_fraction)
    differences = scaled[1] - scaled[0]
    if not has_spread(differences, scale=float(np.max(np.abs(scaled)))):
        return Change(change_fraction, p_value=2.0 ** (1 - len(baseline)) if abs(change_fraction) > ROUNDING else _NAN)
    test = student(log_ratio + differences, CONFIDENCE)
    return Change(change_fraction, float(np.expm1(test.low)), float(np.expm1(test.high)), test.p_value)


def welch_p_value(baseline: Values, candidate: Values) -> float:
    """Return the p-value of Welch's t test of equal means; NaN below two values a side, and if neither varies."""
    if min(len(baseline), len(candidate)) < 2 or not (has_spread(baseline) or has_spread(candidate)):
        return _NAN
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps do not need it)

    # From the moments, since scipy warns about a side without spread.
    return float(stats.ttest_ind_from_stats(*_moments(candidate), *_moments(baseline), equal_var=False).pvalue)


def effect_sizes(baseline: Values, candidate: Values) -> EffectSizes:
    """Compare two samples; NaN below two values a side, and if neither varies."""
    from scipy import stats  # noqa: PLC0415  (as above)
    from statsmodels.stats.meta_analysis import effectsize_smd  # noqa: PLC0415  (as above)

    if min(len(baseline), len(candidate)) < 2 or not (has_spread(baseline) or has_spread(candidate)):
        return EffectSizes()
    u = stats.mannwhitneyu(candidate, baseline)
    return EffectSizes(
        hedges_g=float(effectsize_smd(*_moments(candidate), *_moments(baseline))[0]),
        cliffs_delta=float(2 * u.statistic / (len(candidate) * len(baseline)) - 1),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values (Scandinavian Journal of Statistics 6, 1979), in the given order.

    NaN, an impossible test, stays NaN and does not count.
    """
    # Not with statsmodels, which runs a garbage collection at each call: 0.1 s of CPU after each sequential block.
    adjusted = np.array(p_values, dtype=np.float64)
    ascending = np.argsort(adjusted)[: np.count_nonzero(~np.isnan(adjusted))]  # NaN sorts last
    left = len(ascending) - np.arange(len(ascending))
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(adjusted[ascending] * left))
    return [float(p) for p in adjusted]


def _moments(values: Values) -> tuple[float, float, int]:
    return float(np.mean(values)), float(np.std(values, ddof=1)), len(values)
