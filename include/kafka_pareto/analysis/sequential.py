"""Judges log-ratios within blocks after every block, so that one may look after each and stop at any. Pure functions.

The test is Lai's (On Confidence Sequences, The Annals of Statistics 4, 1976), as Wang and Ramdas put it (Anytime-valid
t-tests and confidence sequences for Gaussian means with unknown variance, arXiv 2310.03722): the Bayes factor of a mean
that is normally distributed, in standard deviations of a block, against none. Of comparisons of equals, at most the
share `level` ever passes 1 / `level`, however often one looks and whatever makes one stop. Unlike group-sequential
bounds it needs no largest number of blocks to be fixed before, so blocks may go where questions are open.

The mean of log-ratios is the log of the ratio of geometric means, which is what is compared and shown.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kafka_pareto.analysis.paired_tests import CONFIDENCE, Change
from kafka_pareto.analysis.rounding import ROUNDING, Values
from kafka_pareto.analysis.student import student_above, student_critical

# The variance of the mean that is expected if there is one, in squared standard deviations of a block.
# `tests/simulations/sequential.py` compares values: with 1, a clear change takes one or two blocks more; with 100, a
# change of one deviation does.
_EXPECTED_VARIANCE = 9.0
_ORDERS = 4000


def after_each_block(log_ratios: Values, least_sds: Values | float = 0.0) -> tuple[Values, Values]:
    """Returns mean and standard deviation of the first block, the first two, and so on.

    Args:
        log_ratios: Shape (..., blocks).
        least_sds: What the resolution of the values leaves unknown, shape (...); no deviation is taken to be less.

    Returns:
        Both of shape (..., blocks). The deviation of one block is infinite.
    """
    blocks = np.arange(1, log_ratios.shape[-1] + 1)
    about = log_ratios[..., :1]
    off = log_ratios - about
    means = np.cumsum(off, axis=-1) / blocks
    squares = np.cumsum(off**2, axis=-1) - blocks * means**2
    with np.errstate(divide="ignore", invalid="ignore"):
        sds = np.sqrt(np.maximum(squares, 0) / (blocks - 1))
    least = np.maximum(np.asarray(least_sds, dtype=np.float64), ROUNDING)[..., np.newaxis]
    return about + means, np.where(blocks > 1, np.maximum(sds, least), np.inf)


def log_e_values(means: Values, sds: Values) -> Values:
    """Returns the log of the evidence against no change after each block; at a level, it shows one above -log(level).

    Args:
        means: From `after_each_block`, shape (..., blocks).
        sds: The same.
    """
    blocks = np.arange(1, means.shape[-1] + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        signal = blocks * means**2 / (sds**2 * (blocks - 1))
    signal = np.where(blocks > 1, signal, 0.0)
    spread = 1 + blocks * _EXPECTED_VARIANCE
    log_e: Values = blocks / 2 * (np.log1p(signal) - np.log1p(signal / spread)) - np.log(spread) / 2
    return log_e


def half_widths(sds: Values, level: float = 1 - CONFIDENCE) -> Values:
    """Returns half the width of the confidence sequence after each block: it holds the mean at every stop.

    Args:
        sds: From `after_each_block`, shape (..., blocks).
        level: In which share of comparisons it may ever miss.
    """
    blocks = np.arange(1, sds.shape[-1] + 1)
    spread = 1 + blocks * _EXPECTED_VARIANCE
    bound = np.exp(2 / blocks * (np.log(spread) / 2 - np.log(level)))
    with np.errstate(divide="ignore", invalid="ignore"):
        widths = sds * np.sqrt((blocks - 1) / blocks * (bound - 1) / (1 - bound / spread))
    return np.where((blocks > 1) & (bound < spread), widths, np.inf)


def change_at_any_stop(reference: Values, candidate: Values, resolution: float = 0.0) -> Change:
    """Returns the change of the geometric mean, with an interval and a p-value that hold whenever one stops.

    Args:
        reference: One positive value per block, shape (blocks,).
        candidate: The candidate's values of the same blocks, shape (blocks,).
        resolution: The smallest difference that the tool shows.
    """
    if not len(reference):
        nothing = float("nan")
        return Change(nothing, nothing, nothing, nothing)
    means, sds = after_each_block(np.log(candidate / reference), least_sd(reference, candidate, resolution))
    mean, half_width = float(means[-1]), float(half_widths(sds)[-1])
    known = half_width if np.isfinite(half_width) else float("nan")
    p_value = min(1.0, float(np.exp(-log_e_values(means, sds)[-1])))
    low, high = float(np.expm1(mean - known)), float(np.expm1(mean + known))
    return Change(float(np.expm1(mean)), low, high, p_value)


def least_sd(reference: Values, candidate: Values, resolution: float) -> float:
    """Returns the standard deviation of a log-ratio that rounding to the resolution alone makes (Sheppard)."""
    if not resolution or not len(reference):
        return 0.0
    typical = [np.exp(np.mean(np.log(side))) for side in (reference, candidate)]
    return float(resolution / np.sqrt(12) * np.hypot(*(1 / each for each in typical)))


def unselected_weights(
    log_ratios: Values,
    final_blocks: int,
    ends_alike: Callable[[Values], npt.NDArray[np.bool_]],
    rng: np.random.Generator,
) -> Values:
    """Returns the weight of each block in an estimate that neither the stop nor the claim has flattered.

    The last blocks were measured because of what the first ones showed, so nothing has selected their values: their
    mean is unbiased. Blocks are exchangeable: each order of the same blocks whose first ones end alike is as likely as
    the one that happened. A block's weight is its share in the last ones over all these orders. The estimate stays
    unbiased and varies less (Cohen and Sackrowitz, Two stage conditionally unbiased estimators of the selected mean,
    Statistics & Probability Letters 8, 1989). Where a claim was clear all orders end alike, and all blocks count the
    same; where it hung by a thread, the last ones count.

    Args:
        log_ratios: Shape (means, blocks), in the order of measuring.
        final_blocks: How many of them were measured after the claim; at least 1.
        ends_alike: Tells of first blocks in several orders, shape (orders, means, first blocks), whether they would
            have ended after the last of them, with a claim.
        rng: Draws the orders.

    Returns:
        Shape (blocks,); their sum is 1.
    """
    blocks = log_ratios.shape[-1]
    orders = rng.permuted(np.tile(np.arange(blocks), (_ORDERS, 1)), axis=1)
    orders[0] = np.arange(blocks)
    alike = ends_alike(np.moveaxis(log_ratios[:, orders[:, :-final_blocks]], 0, 1))
    alike[0] = True
    last = orders[alike, -final_blocks:]
    return np.bincount(last.ravel(), minlength=blocks) / last.size


def weighted_change(reference: Values, candidate: Values, weights: Values, least_sd_of_ratio: float = 0.0) -> Change:
    """Returns the change of the weighted geometric mean, with Student's interval on the blocks' log-ratios.

    The standard error is a block's standard deviation times the root of the sum of the squared weights.

    Args:
        reference: One positive value per block, shape (blocks,).
        candidate: The candidate's values of the same blocks, shape (blocks,).
        weights: Of the blocks; their sum is 1.
        least_sd_of_ratio: See `least_sd`.
    """
    log_ratios = np.log(candidate / reference)
    mean, blocks = float(weights @ log_ratios), len(log_ratios)
    if blocks < 2:
        return Change(float(np.expm1(mean)), *[float("nan")] * 3)
    error = max(float(np.std(log_ratios, ddof=1)), least_sd_of_ratio, ROUNDING) * float(np.sqrt(weights @ weights))
    critical = float(student_critical((1 - CONFIDENCE) / 2, blocks - 1))
    return Change(
        change_fraction=float(np.expm1(mean)),
        low_fraction=float(np.expm1(mean - critical * error)),
        high_fraction=float(np.expm1(mean + critical * error)),
        p_value=float(2 * student_above(abs(mean) / error, blocks - 1)),
    )
