"""Is a candidate different from the baseline? Pure functions of what both measured in the same blocks.

Changes are fractions of the baseline: +0.25 is a quarter more, -0.25 a quarter less. All intervals are 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Values = npt.NDArray[np.float64]

CONFIDENCE = 0.95
MINIMUM_BLOCKS_FOR_CV = 5
# The smallest p-value follows from it: 0.003 at 10 blocks, which Holm over ten CVs leaves below 5 %.
_RESAMPLES = 99_999


@dataclass(frozen=True)
class Change:
    """A candidate's change against the baseline; NaN where the data cannot give a number.

    Attributes:
        change_fraction: Candidate over baseline, minus one.
        low_fraction: Lower end of the 95 % interval.
        high_fraction: Upper end of the 95 % interval.
        p_value: Two-sided, of no change; it agrees with the interval.
        welch_p_value: Welch's test on the same means, for comparison; NaN for a CV.
    """

    change_fraction: float
    low_fraction: float
    high_fraction: float
    p_value: float
    welch_p_value: float


def mean_change(baseline: Values, candidate: Values) -> Change:
    """Change of the mean, from differences within blocks.

    The log of the ratio of the two means, with the standard error of the linearised ratio estimator (Cochran,
    Sampling Techniques, 3rd ed., section 6.5): one difference per block, each side over its own mean, so that what
    a block does to both sides alike cancels. The interval is Student's, on those differences.

    Args:
        baseline: One value per block, shape (blocks,).
        candidate: The candidate's values of the same blocks, shape (blocks,).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(np.mean(candidate) / np.mean(baseline)) if len(baseline) else np.float64("nan")
        differences = candidate / np.mean(candidate) - baseline / np.mean(baseline) if len(baseline) else baseline
    if len(baseline) < 2 or not np.isfinite(log_ratio):
        return _unknown(np.expm1(log_ratio))
    if not np.ptp(differences):
        # Both sides move in step, to the last digit: there is no spread to judge by.
        return _unknown(np.expm1(log_ratio))
    test = stats.ttest_1samp(log_ratio + differences, 0.0)
    interval = test.confidence_interval(CONFIDENCE)
    welch = stats.ttest_ind(candidate, baseline, equal_var=False)
    return Change(
        change_fraction=float(np.expm1(log_ratio)),
        low_fraction=float(np.expm1(interval.low)),
        high_fraction=float(np.expm1(interval.high)),
        p_value=float(test.pvalue),
        welch_p_value=float(welch.pvalue),
    )


def cv_change(baseline: Values, candidate: Values, rng: np.random.Generator) -> Change:
    """Change of the coefficient of variation, by a bootstrap of the log-ratio over whole blocks.

    A percentile interval, expanded for few blocks as by Hesterberg (What Teachers Should Know About the Bootstrap,
    The American Statistician 69, 2015, section 5.3). Where two samples are resampled from the same recorded
    repetitions, 10 blocks each, it claims a change in 2 to 7 % of cases; a t interval with bootstrap standard error
    did so in up to 12 %, one with a jackknife in up to 18 %.

    Args:
        baseline: One value per block, shape (blocks,).
        candidate: The candidate's values of the same blocks, shape (blocks,).
        rng: Source of the resamples.
    """
    blocks = len(baseline)
    observed = float(_log_cv_ratio(candidate, baseline)) if blocks >= 2 else float("nan")
    if blocks < MINIMUM_BLOCKS_FOR_CV or not np.isfinite(observed):
        return _unknown(np.expm1(observed))
    drawn = rng.integers(blocks, size=(_RESAMPLES, blocks))
    resampled = _log_cv_ratio(candidate[drawn], baseline[drawn])
    # A resample that drew equal values alone has no CV.
    finite = resampled[np.isfinite(resampled)]
    if not len(finite) or not np.ptp(finite):
        return _unknown(np.expm1(observed))
    expansion = np.sqrt(blocks / (blocks - 1))
    tail = stats.norm.cdf(-expansion * stats.t.isf((1 - CONFIDENCE) / 2, blocks - 1))
    low, high = np.quantile(finite, [tail, 1 - tail])
    # The p-value at which the interval would just touch no change: the expansion, undone.
    beyond_zero = (1 + min(np.sum(finite <= 0), np.sum(finite >= 0))) / (len(finite) + 1)
    p_value = 2 * stats.t.sf(-stats.norm.ppf(min(beyond_zero, 0.5)) / expansion, blocks - 1)
    return Change(
        change_fraction=float(np.expm1(observed)),
        low_fraction=float(np.expm1(low)),
        high_fraction=float(np.expm1(high)),
        p_value=float(p_value),
        welch_p_value=float("nan"),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (Scandinavian Journal of Statistics 6, 1979), in the order given.

    A NaN is a test that could not be done: it stays NaN and does not count.
    """
    given = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(given), np.nan)
    done = np.flatnonzero(~np.isnan(given))
    order = done[np.argsort(given[done], kind="stable")]
    scaled = given[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(p) for p in adjusted]


def _log_cv_ratio(candidate: Values, baseline: Values, axis: int = -1) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(_cv(candidate, axis)) - np.log(_cv(baseline, axis))


def _cv(values: Values, axis: int) -> Any:
    return np.std(values, axis=axis, ddof=1) / np.mean(values, axis=axis)


def _unknown(change_fraction: float) -> Change:
    nan = float("nan")
    return Change(float(change_fraction), nan, nan, nan, nan)
