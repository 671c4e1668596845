"""Estimate a ratio from blocks, with an anytime-valid interval.

The interval keeps its level if it is inspected after each block and measuring stops or resumes at any block.

Wang and Ramdas's confidence sequence (Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
variance, arXiv 2310.03722), which replaces the flat prior of Lai's (On Confidence Sequences, The Annals of Statistics
4, 1976) by a normal one: all means not excluded by a Bayes factor, here with a prior standard deviation of two block
standard deviations. Unlike group-sequential bounds it needs no maximum number of blocks. It assumes normal log-ratios
without autocorrelation; `tests/simulations/sequential.py` shows the error rates without these. The mean log-ratio is
the log of the ratio of geometric means, which is compared and shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from scipy import special

from kafka_pareto.analysis.rounding import ROUNDING, Values, has_spread, rounding_sd

MOST_BLOCKS = 100_000
# `tests/simulations/sequential.py` compares values: with 1, large changes take one block more; with 9, small ones are
# detected less often.
EXPECTED_VARIANCE = 4.0
_POWER = 0.8
# Further blocks are skipped if the chance that they exclude the bound is lower.
_LEAST_CHANCE = 0.1


def mean_and_sd(log_ratios: Values, least_sd: Values | float = 0.0) -> tuple[Values, Values]:
    """Return the mean of the blocks' log-ratios and the standard deviation of a block, both of shape (...).

    `log_ratios` are in measuring order, shape (..., blocks), at least 1. The deviation is the larger of two estimates:
    from the blocks, and sqrt(2) times that from means of neighbouring pairs, which widens the interval if neighbours
    are alike. It is at least `least_sd`, what the resolution leaves unknown, and infinite for one block.
    """
    blocks = log_ratios.shape[-1]
    means = log_ratios.mean(axis=-1)
    if blocks < 2:
        return means, np.full_like(means, np.inf)
    sds = np.maximum(log_ratios.std(axis=-1, ddof=1), np.maximum(least_sd, ROUNDING))
    if blocks >= 4:
        pairs = log_ratios[..., blocks % 2 :].reshape(*means.shape, -1, 2).mean(axis=-1)
        sds = np.maximum(sds, np.sqrt(2) * pairs.std(axis=-1, ddof=1))
    return means, sds


def log_ratio_of_means(reference: Values, candidate: Values, resolution: float) -> tuple[float, float]:
    """Return the log-ratio of two geometric means over the same blocks, and the standard deviation of a block.

    Values are positive, shape (blocks,). The deviation is at least that of rounding to the tool's `resolution`. Both
    are not finite without blocks, nor is the deviation for one.
    """
    if not len(reference):
        return float("nan"), float("inf")
    mean, sd = mean_and_sd(np.log(candidate / reference), rounding_sd(resolution, reference, candidate))
    return float(mean), float(sd)


def log_mean(values: Values, resolution: float) -> tuple[float, float]:
    """Return the log of the geometric mean of positive values, shape (blocks,), and the standard deviation of a block.

    As for `log_ratio_of_means`, whose rule for `resolution` applies.
    """
    if not len(values):
        return float("nan"), float("inf")
    mean, sd = mean_and_sd(np.log(values), rounding_sd(resolution, values))
    return float(mean), float(sd)


def log_ratio_of_cvs(reference: Values, candidate: Values) -> tuple[float, float]:
    """Return the log-ratio of two CVs over the same blocks, and the standard deviation that a block adds to it.

    The deviation is the jackknife's (Tukey, Annals of Mathematical Statistics 29, 1958) over whole blocks, and at least
    that of normal values, as a dozen values hardly show a tail. Not finite if a side has no CV; nor is the deviation if
    a side has none without one of its blocks. The interval is not anytime-valid: it holds after a number of blocks
    that does not depend on the CVs.
    """
    blocks = len(reference)
    if not (has_spread(reference) and has_spread(candidate)):
        return float("nan"), float("inf")
    log_cvs = _log_cv(reference), _log_cv(candidate)
    log_ratio = log_cvs[1] - log_cvs[0]
    if blocks < 3:
        return log_ratio, float("inf")
    without = np.array([_log_cv(np.delete(candidate, at)) - _log_cv(np.delete(reference, at)) for at in range(blocks)])
    jackknife = (blocks - 1) * float(np.std(without, ddof=1)) if np.isfinite(without).all() else float("inf")
    of_normal = sum(normal_variance_of_log_cv(float(np.exp(each))) for each in log_cvs)
    return log_ratio, max(jackknife, float(np.sqrt(of_normal)))


def normal_variance_of_log_cv(cv: float) -> float:
    """Return the variance of the log of a CV of normal values, times their number, by the delta method."""
    return 0.5 + cv**2


def half_width(blocks: Values | int, level: float, expected_variance: float = EXPECTED_VARIANCE) -> Values:
    """Return half the width of the mean's interval, in standard deviations of a block; shaped as `blocks`.

    It misses in at most a share `level` of comparisons; infinite if so few blocks show nothing at this level. The prior
    `expected_variance` of the mean is in squared standard deviations of a block.
    """
    number = np.asarray(blocks, dtype=np.float64)
    spread = 1 + number * expected_variance
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bound = np.exp(2 / number * (np.log(spread) / 2 - np.log(level)))
        widths = np.sqrt((number - 1) / number * (bound - 1) / (1 - bound / spread))
    return np.where((number > 1) & (bound < spread), widths, np.inf)


def fewest_blocks(level: float) -> int:
    """Return the fewest blocks that can show a change at this level, however large it is."""
    return next(blocks for blocks in range(2, MOST_BLOCKS) if np.isfinite(half_width(blocks, level)))


def least_change_shown(blocks: int, level: float) -> float:
    """Return the log-change that so many blocks show with 80 % power, in standard deviations of a block."""
    return float(half_width(blocks, level) + special.ndtri(_POWER) / np.sqrt(blocks))


def blocks_to_show(log_change: float, sd: float, level: float, minimum: int = 2) -> int | None:
    """Return the blocks that show this change with 80 % power; None beyond 100,000."""
    return _fewest(lambda blocks: abs(log_change) >= sd * least_change_shown(blocks, level), minimum)


def blocks_to_answer(
    log_change: float, sd: float, level: float, wanted: tuple[float, float], minimum: int
) -> int | None:
    """Return the blocks, at least `minimum`, that show this change or that it is irrelevant; None beyond 100,000.

    `log_change` is the true one, `sd` that of a block; log-changes between the two `wanted` ones are irrelevant.
    """

    def is_answered(blocks: int) -> bool:
        off = sd * least_change_shown(blocks, level)
        return abs(log_change) >= off or wanted[0] <= log_change - off <= log_change + off <= wanted[1]

    return _fewest(is_answered, minimum)


def may_show(distance: float, sd: float, blocks: int, most: int, level: float) -> bool:
    """Return whether the interval is likely enough to exclude a bound once `most` blocks are measured.

    `distance` is the mean's from the bound after `blocks` blocks, positive on the side where the mean should end;
    the blocks to come move it by a predictable spread.
    """
    to_come = sd * np.sqrt(1 / blocks - 1 / most)
    return bool(distance - special.ndtri(_LEAST_CHANCE) * to_come >= sd * half_width(most, level))


def _log_cv(values: Values) -> float:
    """Return minus infinity if the values differ by rounding alone."""
    if not has_spread(values):
        return -float("inf")
    return float(np.log(np.std(values, ddof=1) / np.mean(values)))


def _fewest(is_enough: Callable[[int], bool], minimum: int) -> int | None:
    """Return the fewest sufficient blocks from the minimum on; sufficiency must be monotone."""
    numbers = range(minimum, MOST_BLOCKS + 1)
    at = bisect_left(numbers, True, key=is_enough)
    return numbers[at] if at < len(numbers) else None
