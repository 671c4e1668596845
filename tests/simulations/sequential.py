"""Simulated confirmations: false claims, power and number of blocks.

`python -m tests.simulations.sequential` prints the figures of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.sequential import half_width, mean_and_sd

SIZES = (1, 3, 5, 7)
SDS = (0.1, 0.2, 0.35)
MARGIN = WANTED = 0.1
# Two means, and two CVs across repetitions with a tenth of a mean's share each.
_SHARES = 2.2
_SIGNS = np.array([1.0, -1.0])[:, np.newaxis]  # throughput, of which more is better, and p95 latency

Mask = np.ndarray
Deviation = Callable[[Values], tuple[Values, Values]]


def plain(log_ratios: Values) -> tuple[Values, Values]:
    """Return mean and standard deviation of independent blocks."""
    return log_ratios.mean(axis=-1), np.std(log_ratios, axis=-1, ddof=1)


def with_lag(log_ratios: Values) -> tuple[Values, Values]:
    """Return the mean, and the standard deviation widened by the autocorrelation of neighbours (Newey and West)."""
    mean, sd = plain(log_ratios)
    blocks, off = log_ratios.shape[-1], log_ratios - mean[..., np.newaxis]
    lag = (off[..., 1:] * off[..., :-1]).sum(axis=-1) / np.maximum((off**2).sum(axis=-1), 1e-300)
    return mean, sd * np.sqrt(1 + 2 * np.clip(lag + 1 / blocks, 0, 0.5))


@dataclass(frozen=True)
class Rule:
    """When blocks end and what is claimed of the means of one record size.

    Attributes:
        expected_variance: Of the effect, in squared standard deviations of a block.
        comparisons: Divisor of the 5 % at one record size.
        most: The most gain blocks.
        final: Blocks that follow where something is shown.
        harm_level: Of a separate interval for harm; None for the printed one.
        at_the_stop: Whether claims rest on the gain blocks alone.
    """

    deviation: Deviation = mean_and_sd
    expected_variance: float = 4.0
    comparisons: float = _SHARES
    most: int = 24
    final: int = 10
    harm_level: float | None = None
    at_the_stop: bool = False
    minimum_blocks: int = 3


RULE = Rule()
CANDIDATES = {
    "before: claims by the gain blocks, harm by intervals of its own": Rule(
        plain, 9.0, comparisons=4, harm_level=SIGNIFICANCE, at_the_stop=True
    ),
    "one interval of all blocks, neighbours ignored, effect SD 3": Rule(plain, 9.0),
    "one interval of all blocks, neighbours ignored, effect SD 2": Rule(plain),
    "widened by the neighbours' autocorrelation, effect SD 2": Rule(with_lag),
    "widened by pairs of neighbours, effect SD 3": Rule(expected_variance=9.0),
    "widened by pairs of neighbours, effect SD 1": Rule(expected_variance=1.0),
    "widened by pairs of neighbours, effect SD 2 (in use)": RULE,
    "the same with the blocks of `quick` (12, then 4)": replace(RULE, most=12, final=4),
    "the same with the blocks of `cold_burst` (30, then 10)": replace(RULE, most=30, final=10),
}


@dataclass(frozen=True)
class Ends:
    """How simulated confirmations ended; each of shape (confirmations,) or (confirmations, means)."""

    blocks: Values
    all_blocks: Values
    better: Mask
    worse: Mask
    unasked: Mask
    mean: Values
    half_width: Values

    def has_gain(self) -> float:
        return float(self.better.any(axis=1).mean())

    def has_change(self) -> float:
        return float((self.better | self.worse).any(axis=1).mean())


class After:
    """A rule's view of log-ratios (confirmations, 2 means, blocks) after each block."""

    def __init__(self, log_ratios: Values, deviation: Deviation) -> None:
        found = [deviation(log_ratios[..., :blocks]) for blocks in range(2, log_ratios.shape[-1] + 1)]
        unknown = np.full(log_ratios.shape[:-1], np.inf)
        self.means = np.stack([log_ratios[..., 0], *(mean for mean, _ in found)], axis=-1)
        self.sds = np.stack([unknown, *(sd for _, sd in found)], axis=-1)

    def ends(self, rule: Rule, sizes: int) -> Ends:
        """End each after the first block that answers, else with the last; claim by all of its blocks."""
        number = np.arange(1, self.means.shape[-1] + 1)
        level = SIGNIFICANCE / (rule.comparisons * sizes)
        widths = self.sds * half_width(number, level, rule.expected_variance)
        by_harm = (
            widths
            if rule.harm_level is None
            else self.sds * half_width(number, rule.harm_level, rule.expected_variance)
        )
        good = _SIGNS * self.means
        better, worse = good - widths > 0, good + by_harm < 0
        harmless = good - by_harm >= np.where(_SIGNS > 0, np.log1p(-MARGIN), -np.log1p(MARGIN))
        if rule.harm_level is not None:
            harmless |= better
        harmed = (worse & ~harmless).any(axis=1)
        within = (self.means - widths >= np.log1p(-WANTED)) & (self.means + widths <= np.log1p(WANTED))
        claimed = better.any(axis=1) & harmless.all(axis=1) & ~harmed
        ended = claimed | harmed | within.all(axis=1)
        ended[:, : rule.minimum_blocks - 1] = False
        ended[:, rule.most - 1] = True
        stop = ended[:, : rule.most].argmax(axis=1)
        each = np.arange(len(stop))
        shows = (better | worse).any(axis=1)[each, stop]
        end = stop + rule.final * shows
        by = stop if rule.at_the_stop else end
        return Ends(
            blocks=stop + 1,
            all_blocks=end + 1,
            better=better[each, :, by],
            worse=worse[each, :, by],
            unasked=claimed[each, by],
            mean=self.means[each, :, end],
            half_width=widths[each, :, end],
        )


MODELS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Values]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "t with 3 degrees of freedom": lambda rng, shape: rng.standard_t(3, size=shape) / np.sqrt(3),
    "one in ten five times as far off": lambda rng, shape: (
        rng.normal(size=shape) * np.where(rng.random(shape) < 0.1, 5, 1) / np.sqrt(3.4)
    ),
    "both means tied, correlation 0.8": lambda rng, shape: _tied(rng.normal(size=shape)),
    "AR(1) 0.3": lambda rng, shape: _autocorrelated(rng.normal(size=shape), 0.3),
    "AR(1) 0.5": lambda rng, shape: _autocorrelated(rng.normal(size=shape), 0.5),
    "log-normal tail, skewness 1.8": lambda rng, shape: _SIGNS * -_standard(np.exp(rng.normal(size=shape) / 2), 0.25),
    "exponential tail, skewness 2": lambda rng, shape: -_SIGNS * (rng.exponential(size=shape) - 1),
    "exponential tail to the good side": lambda rng, shape: _SIGNS * (rng.exponential(size=shape) - 1),
}
"""Log-ratios in standard deviations. Tails are rare blocks to the bad side, so that few blocks look like a gain."""


def _tied(normal: Values) -> Values:
    normal[:, 1] = -0.8 * normal[:, 0] + 0.6 * normal[:, 1]
    return normal


def _autocorrelated(steps: Values, share: float) -> Values:
    for block in range(1, steps.shape[-1]):
        steps[..., block] = share * steps[..., block - 1] + np.sqrt(1 - share**2) * steps[..., block]
    return steps


def _standard(log_normal: Values, variance: float) -> Values:
    mean = np.exp(variance / 2)
    return (log_normal - mean) / (mean * np.sqrt(np.expm1(variance)))


def log_ratios_of(
    model: str, confirmations: int, sd: float, seed: int, changes: tuple[float, float] = (0.0, 0.0), blocks: int = 40
) -> Values:
    """Draw log-ratios of throughput and p95 latency whose geometric means change by these fractions."""
    rng = np.random.default_rng([seed, round(1000 * sd)])
    found: Values = np.log1p(np.array(changes))[:, np.newaxis] + sd * MODELS[model](rng, (confirmations, 2, blocks))
    return found


def of_campaigns(share: float, sizes: int) -> float:
    """Return the share of campaigns in which it happens at any record size."""
    return float(1 - (1 - share) ** sizes)


def false_claims(model: str, rule: Rule, confirmations: int, sds: tuple[float, ...] = SDS) -> Values:
    """Return shares of unchanged campaigns that claim a gain, claim any change, and activate the pick.

    Shape (3, sizes): the largest over the standard deviations, at each number of record sizes.
    """
    found = []
    for sd in sds:
        after = After(log_ratios_of(model, confirmations, sd, 31, blocks=rule.most + rule.final), rule.deviation)
        ends = [after.ends(rule, sizes) for sizes in SIZES]
        shares = [[each.has_gain(), each.has_change(), float(each.unasked.mean())] for each in ends]
        found.append([[of_campaigns(one, n) for one in of_size] for of_size, n in zip(shares, SIZES, strict=True)])
    largest: Values = np.max(found, axis=0).T
    return largest


def _changed(change: float, sd: float, confirmations: int, seed: int = 33) -> Values:
    """Draw log-ratios of a throughput changed by this fraction and a p95 latency improved by the same."""
    return log_ratios_of("normal", confirmations, sd, seed, (change, -change / (1 + change)))


def main() -> None:
    for name, rule in CANDIDATES.items():
        print(
            f"\n{name}: share of unchanged campaigns of {SIZES} cases that claim a gain | any change | auto-activated"
        )
        for model in MODELS:
            shares = false_claims(model, rule, 20_000)
            print(f"{model:34} | " + " | ".join(" ".join(f"{each:6.2%}" for each in row) for row in shares), flush=True)
        print("change of both means, block SD: throughput gain claimed | auto-activated | gain blocks, all blocks")
        for sd in (*SDS, 0.5):
            for change in (0.1, 0.2, 0.5, 1.0, 3.0):
                ends = After(_changed(change, sd, 4000), rule.deviation).ends(rule, 5)
                blocks = f"{ends.blocks.mean():4.1f}, {ends.all_blocks.mean():4.1f}"
                print(
                    f"{change:5.0%}, {sd:4} | {ends.better[:, 0].mean():5.1%} | {ends.unasked.mean():5.1%} | {blocks}"
                )
    print("\nharm of p95 with +50 % throughput, block SD 0.2: auto-activated before | now | shown as harm now")
    for harm in (0.05, 0.1, 0.11, 0.2, 0.5):
        log_ratios = log_ratios_of("normal", 20_000, 0.2, 35, (0.5, harm))
        before, now = (
            After(log_ratios, rule.deviation).ends(rule, 5) for rule in (next(iter(CANDIDATES.values())), RULE)
        )
        print(f"{harm:4.0%} | {before.unasked.mean():6.2%} | {now.unasked.mean():6.2%} | {now.worse[:, 1].mean():5.1%}")
    print("\nstated gain, both means better: change, SD | offered | by its gain blocks | by all | interval misses")
    for change, sd in ((0.1, 0.1), (0.2, 0.2), (0.3, 0.2), (0.5, 0.35), (1.0, 0.35), (3.0, 0.35)):
        for rule in (RULE, replace(RULE, most=12, final=4)):
            offered, stop, stated, missed = stated_by(change, sd, rule, 20_000)
            blocks = f"{rule.most:2} {rule.final:2}"
            print(f"{change:4.0%} {sd} {blocks} | {offered:4.0%} | {stop:6.1%} | {stated:6.1%} | {missed:.3%}")


def stated_by(change: float, sd: float, rule: Rule, confirmations: int) -> tuple[float, float, float, float]:
    """State the throughput of offered picks.

    Return the share offered after the gain blocks, the mean change by those, by all blocks, and the share of intervals
    that misses the true one.
    """
    after = After(_changed(change, sd, confirmations), rule.deviation)
    at_stop, ends = (after.ends(each, 5) for each in (replace(rule, at_the_stop=True), rule))
    offered = at_stop.better.any(axis=1)
    by_gain_blocks = after.means[np.arange(confirmations), 0, ends.blocks - 1]
    missed = np.abs(ends.mean[:, 0] - np.log1p(change)) > ends.half_width[:, 0]
    stated = [float(np.expm1(each[offered].mean())) for each in (by_gain_blocks, ends.mean[:, 0])]
    return float(offered.mean()), stated[0], stated[1], float(missed.mean())


if __name__ == "__main__":
    main()
