"""Tests whether a candidate differs from the baseline, in the blocks that measured both. Pure functions.

Changes are fractions of the baseline, which may be any reference: +0.25 is a quarter more, -0.25 a quarter less.
Intervals are 95 %, where no other confidence is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy import special

from kafka_pareto.analysis.rounding import ROUNDING, Values, dense_ranks, has_spread
from kafka_pareto.analysis.student import student, student_above, student_critical

CONFIDENCE = 0.95
MINIMUM_BLOCKS = 2
# One resample in 625 draws one of five blocks five times and has no CV: more than the interval's tails hold.
MINIMUM_BLOCKS_FOR_CV = 6
_RESAMPLES = 20_000
_RESAMPLES_AT_ONCE = 10_000
# A share of the squares around the mean. A variance this small is rounding: the resample drew one value only.
_NO_VARIANCE = 1e-14


@dataclass(frozen=True)
class Change:
    """Holds a candidate's change against the baseline; NaN where the data cannot give a number.

    Attributes:
        change_fraction: Candidate over baseline, minus one.
        low_fraction: Lower end of the 95 % interval.
        high_fraction: Upper end of the 95 % interval.
        p_value: Two-sided, of no change; it agrees with the interval.
    """

    change_fraction: float
    low_fraction: float
    high_fraction: float
    p_value: float


@dataclass(frozen=True)
class UnpairedComparison:
    """Holds the results of tests that ignore blocks, and the size of the effect; NaN where there is none.

    Attributes:
        welch_p_value: Welch's t test of equal means.
        mann_whitney_p_value: Mann and Whitney's U test, of neither side tending to larger values.
        hedges_g: Difference of the means in pooled standard deviations, corrected for small samples.
        cliffs_delta: Share of pairs in which the candidate's value is the larger one, less that in which it is the
            smaller one (Cliff, Psychological Bulletin 114, 1993): U scaled to -1 … 1.
    """

    welch_p_value: float = float("nan")
    mann_whitney_p_value: float = float("nan")
    hedges_g: float = float("nan")
    cliffs_delta: float = float("nan")


def mean_change(baseline: Values, candidate: Values, confidence: float = CONFIDENCE) -> Change:
    """Returns the change of the mean, from differences within blocks.

    The log of the ratio of the two means is tested with the standard error of the linearised ratio estimator (Cochran,
    Sampling Techniques, 3rd ed., section 6.5). Each block gives one difference, each side over its own mean: an effect
    that a block has on both sides cancels. The interval is Student's, on those differences. They have no spread where
    the sides are in proportion, as latencies in whole milliseconds may be. Then there is no interval, and the p-value
    is the sign test's.

    Args:
        baseline: One value per block, shape (blocks,).
        candidate: The candidate's values of the same blocks, shape (blocks,).
        confidence: Of the interval.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.log(np.mean(candidate) / np.mean(baseline)) if len(baseline) else np.float64("nan")
        scaled = _over_their_means(baseline, candidate)
    if len(baseline) < MINIMUM_BLOCKS or not np.isfinite(log_ratio):
        return _unknown(np.expm1(log_ratio))
    if _in_proportion(scaled):
        return _in_step(float(np.expm1(log_ratio)), len(baseline))
    differences = scaled[1] - scaled[0]
    test = student(log_ratio + differences, confidence)
    return Change(
        change_fraction=float(np.expm1(log_ratio)),
        low_fraction=float(np.expm1(test.low)),
        high_fraction=float(np.expm1(test.high)),
        p_value=test.p_value,
    )


def welch_p_value(baseline: Values, candidate: Values) -> float:
    """Returns the p-value of Welch's t test of equal means; NaN below two values a side, and where neither varies."""
    if min(len(baseline), len(candidate)) < 2 or not (has_spread(baseline) or has_spread(candidate)):
        return float("nan")
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps need none of it)

    # From the moments: scipy warns of a side that has no spread of its own.
    return float(stats.ttest_ind_from_stats(*_moments(candidate), *_moments(baseline), equal_var=False).pvalue)


def unpaired_comparison(baseline: Values, candidate: Values) -> UnpairedComparison:
    """Compares two samples of at least two values each, whatever their blocks."""
    from scipy import stats  # noqa: PLC0415  (as above)
    from statsmodels.stats.meta_analysis import effectsize_smd  # noqa: PLC0415  (as above)

    if min(len(baseline), len(candidate)) < 2 or not (has_spread(baseline) or has_spread(candidate)):
        return UnpairedComparison()
    u = stats.mannwhitneyu(candidate, baseline)
    return UnpairedComparison(
        welch_p_value=welch_p_value(baseline, candidate),
        mann_whitney_p_value=float(u.pvalue),
        hedges_g=float(effectsize_smd(*_moments(candidate), *_moments(baseline))[0]),
        cliffs_delta=float(2 * u.statistic / (len(candidate) * len(baseline)) - 1),
    )


def cv_change(baseline: Values, candidate: Values, rng: np.random.Generator) -> Change:
    """Returns the change of the coefficient of variation, by a bootstrap of the log-ratio over whole blocks.

    The interval is a percentile interval, expanded for few blocks as by Hesterberg (What Teachers Should Know About the
    Bootstrap, The American Statistician 69, 2015, section 5.3). The p-value treats the interval's end on the side of no
    change as Student's t does: it is 5 % where the interval touches no change, and follows t beyond. A count of the
    resamples beyond no change would find nothing at the small p-values that Holm asks for: with ten blocks those few
    resamples are the ones that drew the same two or three values again and again.

    With two samples of 10 blocks drawn from the same recorded repetitions, it claims a change in 3 to 5 % of cases at 5
    %, and in up to 0.5 % at 0.25 %.

    Args:
        baseline: One value per block, shape (blocks,).
        candidate: The candidate's values of the same blocks, shape (blocks,).
        rng: Source of the resamples.
    """
    blocks = len(baseline)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = _over_their_means(baseline, candidate)
        observed = float(_log_cv_ratio(scaled, np.ones((1, blocks)))[0]) if blocks >= 2 else float("nan")
    if blocks < MINIMUM_BLOCKS_FOR_CV or not np.isfinite(observed) or _in_proportion(scaled):
        return _unknown(np.expm1(observed))
    resampled = np.concatenate([_log_cv_ratio(scaled, counts) for counts in _resamples(blocks, rng)])
    # A resample of equal values only has no CV. It supports neither side, and so counts on both ends.
    known = np.isfinite(resampled)
    critical, tail = student_critical((1 - CONFIDENCE) / 2, blocks - 1), _tail(blocks)
    low = np.quantile(np.where(known, resampled, -np.inf), tail, method="inverted_cdf")
    high = np.quantile(np.where(known, resampled, np.inf), 1 - tail, method="inverted_cdf")
    if not (np.isfinite(low) and np.isfinite(high) and low < observed < high):
        return _unknown(np.expm1(observed))
    towards_zero = observed - low if observed > 0 else high - observed
    return Change(
        change_fraction=float(np.expm1(observed)),
        low_fraction=float(np.expm1(low)),
        high_fraction=float(np.expm1(high)),
        p_value=float(2 * student_above(critical * abs(observed) / towards_zero, blocks - 1)),
    )


def fewest_blocks_for_cv(values: Values, share: float) -> int:
    """Returns the fewest blocks with which `cv_change` gives this share of its intervals, for two sides like these.

    There is no interval where the resamples without a CV outnumber a tail of the interval. A side of n blocks of which
    k have the same value has no CV in (k / n)^n of its resamples. Latencies in whole milliseconds often tie.

    Args:
        values: Of one side, with a spread, shape (repetitions,).
        share: Between 0 and 1.
    """
    tied = np.unique(dense_ranks(values), return_counts=True)[1].max()
    # How often one more would tie: the commonest of a few values is commoner among them than it is.
    tie_fraction = (tied - 1) / (len(values) - 1)

    def given(blocks: int) -> float:
        most_tied = np.floor(blocks * (_tail(blocks) / 2) ** (1 / blocks))
        return float(special.bdtr(most_tied, blocks, tie_fraction) ** 2)

    return next(blocks for blocks in count(MINIMUM_BLOCKS_FOR_CV) if given(blocks) >= share)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns Holm's adjusted p-values (Scandinavian Journal of Statistics 6, 1979), in the order given.

    A NaN is a test that could not be done: it stays NaN and does not count.
    """
    # Not by statsmodels: it collects all garbage at each call, 0.1 s of CPU after each sequential block.
    adjusted = np.array(p_values, dtype=np.float64)
    ascending = np.argsort(adjusted)[: np.count_nonzero(~np.isnan(adjusted))]  # NaN sorts last
    left = len(ascending) - np.arange(len(ascending))
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(adjusted[ascending] * left))
    return [float(p) for p in adjusted]


def _moments(values: Values) -> tuple[float, float, int]:
    return float(np.mean(values)), float(np.std(values, ddof=1)), len(values)


def _over_their_means(baseline: Values, candidate: Values) -> Values:
    return np.stack([values / np.mean(values) if len(values) else values for values in (baseline, candidate)])


def _in_proportion(scaled: Values) -> bool:
    """Tells whether the ratio is the same in every block, from values over their mean."""
    baseline, candidate = scaled
    return not has_spread(candidate - baseline, scale=float(np.max(np.abs(scaled))))


def _tail(blocks: int) -> float:
    """Returns the share of resamples beyond either end of the expanded interval."""
    critical = student_critical((1 - CONFIDENCE) / 2, blocks - 1)
    return float(special.ndtr(-critical * np.sqrt(blocks / (blocks - 1))))


def _resamples(blocks: int, rng: np.random.Generator) -> Iterator[Values]:
    """Yields how often each resample drew each block, in portions of shape (resamples, blocks)."""
    row_starts = blocks * np.arange(_RESAMPLES_AT_ONCE)[:, np.newaxis]
    for _ in range(0, _RESAMPLES, _RESAMPLES_AT_ONCE):
        drawn = rng.integers(blocks, size=(_RESAMPLES_AT_ONCE, blocks)) + row_starts
        counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        yield counts.astype(np.float64)


def _log_cv_ratio(scaled: Values, counts: Values) -> Values:
    """Returns each resample's log-ratio of CVs, candidate over baseline, from values over their mean.

    It is not finite where one side has no CV.
    """
    baseline, candidate = scaled
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Values = np.log(_cv(candidate, counts) / _cv(baseline, counts))
    return ratio


def _cv(values: Values, counts: Values) -> Values:
    blocks = len(values)
    off, squared = (counts @ np.stack([values - 1, (values - 1) ** 2], axis=1)).T / blocks
    variance = squared - off**2
    known = np.where(variance > _NO_VARIANCE * (1 + squared), variance, 0)
    cv: Values = np.sqrt(known * blocks / (blocks - 1)) / (1 + off)
    return cv


def _in_step(change_fraction: float, blocks: int) -> Change:
    """Returns the result when the ratio is identical in every block: no spread, so no interval."""
    nan = float("nan")
    p_value = 2.0 ** (1 - blocks) if abs(change_fraction) > ROUNDING else nan
    return Change(change_fraction, nan, nan, p_value)


def _unknown(change_fraction: float) -> Change:
    nan = float("nan")
    return Change(float(change_fraction), nan, nan, nan)
