"""Estimates a ratio from blocks, with an interval that holds after every block at once. Pure functions.

One may look after each block, stop at any, and go on: the interval still errs at its level. Verdicts are read off it.

The interval is Lai's confidence sequence (On Confidence Sequences, The Annals of Statistics 4, 1976), as Wang and
Ramdas put it (Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance, arXiv
2310.03722): all means that a Bayes factor does not exclude, whose prior is normal with a standard deviation of two
standard deviations of a block. Unlike group-sequential bounds it needs no largest number of blocks to be fixed before.
It assumes normal log-ratios without autocorrelation; `tests/simulations/sequential.py` shows how much it errs where
they are neither.

The mean of log-ratios is the log of the ratio of geometric means, which is what is compared and shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from scipy import special

from kafka_pareto.analysis.rounding import ROUNDING, Values, has_spread

MOST_BLOCKS = 100_000
# `tests/simulations/sequential.py` compares values: with 1, clear changes take a block more; with 9, small ones are
# claimed more seldom.
EXPECTED_VARIANCE = 4.0
_POWER = 0.8
# The log of a CV has at least this variance times the number of blocks, if its values are normal.
_VARIANCE_OF_A_LOG_CV = 0.5


def mean_and_sd(log_ratios: Values, least_sd: Values | float = 0.0) -> tuple[Values, Values]:
    """Returns the mean of the blocks' log-ratios, and the standard deviation of a block.

    The deviation is the larger one of two estimates: from the blocks, and from the means of neighbouring pairs, times
    the root of 2. They agree where blocks are independent. Where neighbours are alike the second is larger, and the
    interval of the mean as wide as it has to be.

    Args:
        log_ratios: In the order of measuring, shape (..., blocks), at least 1.
        least_sd: What the resolution of the values leaves unknown, shape (...); no deviation is taken to be less.

    Returns:
        Both of shape (...). The deviation is infinite for one block.
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
    """Returns the log-ratio of two geometric means over the same blocks, and the standard deviation of a block.

    Args:
        reference: Positive values, shape (blocks,).
        candidate: The candidate's of the same blocks.
        resolution: The smallest difference that the tool shows; 0 for every one. Rounding to it makes values alike, so
            no deviation is taken to be less than what it makes by itself (Sheppard).

    Returns:
        Not finite for no blocks; for one block the deviation is not.
    """
    if not len(reference):
        return float("nan"), float("inf")
    typical = [np.exp(np.mean(np.log(side))) for side in (reference, candidate)]
    by_rounding = float(resolution / np.sqrt(12) * np.hypot(*(1 / each for each in typical)))
    mean, sd = mean_and_sd(np.log(candidate / reference), by_rounding)
    return float(mean), float(sd)


def log_ratio_of_cvs(reference: Values, candidate: Values) -> tuple[float, float]:
    """Returns the log-ratio of two CVs over the same blocks, and the standard deviation that a block adds to it.

    The deviation is the jackknife's (Tukey, Annals of Mathematical Statistics 29, 1958), over whole blocks, and at
    least that of normal values: a dozen values hardly show a tail.

    Returns:
        Not finite where a side has no CV; the deviation is not, either, where it has none without one of its blocks.
    """
    blocks = len(reference)
    if not (has_spread(reference) and has_spread(candidate)):
        return float("nan"), float("inf")
    if blocks < 3:
        return _log_cv(candidate) - _log_cv(reference), float("inf")
    without = np.array([_log_cv(np.delete(candidate, at)) - _log_cv(np.delete(reference, at)) for at in range(blocks)])
    jackknife = (blocks - 1) * float(np.std(without, ddof=1)) if np.isfinite(without).all() else float("inf")
    return _log_cv(candidate) - _log_cv(reference), max(jackknife, float(np.sqrt(2 * _VARIANCE_OF_A_LOG_CV)))


def half_width(blocks: Values | int, level: float, expected_variance: float = EXPECTED_VARIANCE) -> Values:
    """Returns half the width of the interval of the mean, in standard deviations of a block.

    Args:
        blocks: Of what is estimated, any shape.
        level: In which share of comparisons it may ever miss.
        expected_variance: Of the mean, if there is one, in squared standard deviations of a block.

    Returns:
        Of the same shape. Infinite where so few blocks show nothing at this level.
    """
    number = np.asarray(blocks, dtype=np.float64)
    spread = 1 + number * expected_variance
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bound = np.exp(2 / number * (np.log(spread) / 2 - np.log(level)))
        widths = np.sqrt((number - 1) / number * (bound - 1) / (1 - bound / spread))
    return np.where((number > 1) & (bound < spread), widths, np.inf)


def fewest_blocks(level: float) -> int:
    """Returns the fewest blocks that can show a change at this level, however large it is."""
    return next(blocks for blocks in range(2, MOST_BLOCKS) if np.isfinite(half_width(blocks, level)))


def least_change_shown(blocks: int, level: float) -> float:
    """Returns the log-change that so many blocks show with 80 % power, in standard deviations of a block."""
    return float(half_width(blocks, level) + special.ndtri(_POWER) / np.sqrt(blocks))


def blocks_to_show(log_change: float, sd: float, level: float, minimum: int = 2) -> int | None:
    """Returns the blocks that show this change with 80 % power; None beyond 100,000."""
    return _fewest(lambda blocks: abs(log_change) >= sd * least_change_shown(blocks, level), minimum)


def blocks_to_answer(
    log_change: float, sd: float, level: float, wanted: tuple[float, float], minimum: int
) -> int | None:
    """Returns the blocks that show this change, or that it lies between the wanted ones; None beyond 100,000.

    Args:
        log_change: The true one.
        sd: The standard deviation of a block.
        level: Of the interval.
        wanted: Log-changes below and above which one matters.
        minimum: The answer is at least this.
    """

    def is_answered(blocks: int) -> bool:
        off = sd * least_change_shown(blocks, level)
        return abs(log_change) >= off or wanted[0] <= log_change - off <= log_change + off <= wanted[1]

    return _fewest(is_answered, minimum)


def _log_cv(values: Values) -> float:
    """Returns minus infinity where the values differ by rounding alone."""
    if not has_spread(values):
        return -float("inf")
    return float(np.log(np.std(values, ddof=1) / np.mean(values)))


def _fewest(is_enough: Callable[[int], bool], minimum: int) -> int | None:
    """Returns the fewest blocks, from the minimum on, that are enough; more must be enough, too."""
    numbers = range(minimum, MOST_BLOCKS + 1)
    at = bisect_left(numbers, True, key=is_enough)
    return numbers[at] if at < len(numbers) else None
