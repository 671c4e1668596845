"""Simulated sequential confirmations: what blocks that end as soon as they answer save, and how often they err.

Run as a program, it prints the figures of docs/method.md: `python -m tests.simulations.sequential`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import stats

from kafka_pareto.analysis import paired_tests, sequential
from kafka_pareto.analysis.gains import CAUTION_ABOUT_CVS, SIGNIFICANCE
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.sequential import unselected_weights, weighted_change
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.stopping import Rule
from tests.simulations.campaigns import STUDY, recorded_configurations

CHANGES = (0.05, 0.1, 0.2, 0.5, 1.0, 3.0)
FIXED = (10, 14, 20)
COMPARISONS = 20
"""Four objectives at five record sizes."""
MOST_BLOCKS, FINAL_BLOCKS, MINIMUM_BLOCKS = 20, 4, 3
# Throughput, of which more is better, and p95 latency.
RULE = Rule(
    signs=np.array([1.0, -1.0]),
    level=SIGNIFICANCE / COMPARISONS,
    harm_margin_fraction=0.1,
    wanted_effect_fraction=0.1,
    minimum_blocks=MINIMUM_BLOCKS,
)


@dataclass(frozen=True)
class Ends:
    """Holds how simulated confirmations ended, each of shape (confirmations,).

    Attributes:
        blocks: After how many blocks.
        claimed: With a claim that no person is asked about.
        harmed: With harm that was shown.
    """

    blocks: Values
    claimed: np.ndarray
    harmed: np.ndarray


def ends_of(log_ratios: Values, rule: Rule = RULE) -> Ends:
    """Ends confirmations after the first block that answers, else with the last.

    Args:
        log_ratios: Candidate over reference, shape (confirmations, means, blocks).
        rule: What ends them.
    """
    answers = rule.answers(log_ratios)
    ended = answers.ended.copy()
    ended[:, : rule.minimum_blocks - 1] = False
    ended[:, -1] = True
    last = ended.argmax(axis=1)
    each = np.arange(len(last))
    return Ends(last + 1, answers.claimed[each, last], answers.harmed[each, last])


def normal_log_ratios(rng: np.random.Generator, confirmations: int, changes: tuple[float, float], sd: float) -> Values:
    """Draws log-ratios of throughput and p95 latency whose geometric means change by these fractions."""
    means = np.log1p(np.array(changes))[:, np.newaxis]
    return means + rng.normal(0, sd, (confirmations, 2, MOST_BLOCKS))


@cache
def _recorded_values(case: str) -> Values:
    """Throughput and p95 latency of the recorded repetitions, shape (configurations, 2, repetitions)."""
    return np.array(
        [
            [[_value(each, name) for each in repetitions] for name in ("throughput_mib_s", "latency_p95_ms")]
            for repetitions in recorded_configurations(case)
        ]
    )


def _value(repetition: Repetition, name: str) -> float:
    value = repetition.number(name)
    assert value is not None
    return value


def _least_sds(reference: Values, candidate: Values) -> Values:
    """Returns what the resolutions leave unknown of both means, shape (..., 2): the tool shows whole milliseconds."""
    typical = [np.exp(np.mean(np.log(side), axis=-1)) for side in (reference, candidate)]
    least: Values = np.array([0.0, 1.0]) / np.sqrt(12) * np.hypot(1 / typical[0], 1 / typical[1])
    return least


@dataclass(frozen=True)
class Unchanged:
    """Tells of campaigns of unchanged settings what they show, each of shape (campaigns,).

    Attributes:
        mean: A change of a mean, at any record size after any block.
        claimed: A gain of a mean, where the blocks end.
        cv: A change of a CV, where the blocks end.
    """

    mean: np.ndarray
    claimed: np.ndarray
    cv: np.ndarray


def unchanged(rng: np.random.Generator, campaigns: int) -> Unchanged:
    """Confirms unchanged settings: both sides of every block are drawn from the recorded repetitions of one
    configuration, a new one for each record size.
    """
    changed, claimed, cvs = (np.zeros(campaigns, dtype=bool) for _ in range(3))
    for case in STUDY.cases:
        values = _recorded_values(case)
        of_configuration = values[rng.integers(len(values), size=campaigns)]
        drawn = rng.integers(values.shape[-1], size=(2, campaigns, 1, MOST_BLOCKS))
        reference, candidate = (np.take_along_axis(of_configuration, side, axis=2) for side in drawn)
        log_ratios, least_sds = np.log(candidate / reference), _least_sds(reference, candidate)
        means, sds = sequential.after_each_block(log_ratios, least_sds)
        shown = np.abs(means) > sequential.half_widths(sds, RULE.level)
        changed |= shown[:, :, MINIMUM_BLOCKS - 1 :].any(axis=(1, 2))
        ends = ends_of(log_ratios, replace(RULE, least_sds=least_sds))
        claimed |= ends.claimed
        for campaign, blocks in enumerate(ends.blocks):
            sides = zip(reference[campaign, :, :blocks], candidate[campaign, :, :blocks], strict=True)
            cvs[campaign] |= any(_shows_a_change_of_its_cv(*each, rng) for each in sides)
    return Unchanged(changed, claimed, cvs)


def _shows_a_change_of_its_cv(reference: Values, candidate: Values, rng: np.random.Generator) -> bool:
    return bool(paired_tests.cv_change(reference, candidate, rng).p_value * CAUTION_ABOUT_CVS < RULE.level)


def fixed_power(log_ratios: Values, blocks: int) -> float:
    """Returns the share in which Student's t test of so many blocks shows the change of throughput, at that level."""

    p_values = stats.ttest_1samp(log_ratios[:, 0, :blocks], 0.0, axis=1).pvalue
    return float(np.mean(p_values < RULE.level))


def stated(rng: np.random.Generator, confirmations: int, changes: tuple[float, float], sd: float) -> Values:
    """States the throughput of those that ended with a claim, by three estimates.

    Returns:
        Of each claim the log-ratio by all of its blocks up to the claim, by the weighted ones, by the final ones
        alone, and whether the weighted one's interval holds the truth; shape (claims, 4).
    """
    found = []
    for log_ratios in normal_log_ratios(rng, confirmations, changes, sd):
        ends = ends_of(log_ratios[np.newaxis])
        if not ends.claimed[0]:
            continue
        blocks = int(ends.blocks[0])
        final = np.log1p(np.array(changes))[:, np.newaxis] + rng.normal(0, sd, (2, FINAL_BLOCKS))
        together = np.concatenate([log_ratios[:, :blocks], final], axis=1)
        early = blocks < MOST_BLOCKS
        weights = unselected_weights(
            together, FINAL_BLOCKS, lambda orders, early=early: RULE.ends_alike(orders, early=early), rng
        )
        change = weighted_change(np.ones(together.shape[1]), np.exp(together[0]), weights)
        holds = change.low_fraction <= changes[0] <= change.high_fraction
        found.append([together[0, :blocks].mean(), weights @ together[0], final[0].mean(), holds])
    return np.array(found).reshape(-1, 4)


def main() -> None:
    """Prints the figures of docs/method.md."""
    rng = np.random.default_rng(31)
    found = unchanged(rng, 2000)
    print(
        f"of 2,000 unchanged campaigns {(found.mean | found.cv).sum()} show anything: a change of a mean "
        f"{found.mean.sum()} (a gain of one {found.claimed.sum()}), of a CV {found.cv.sum()}",
        flush=True,
    )
    for sd in (0.1, 0.2, 0.35):
        print(f"\nblock SD {sd}: change of both means | claimed | blocks, median and mean | power of fixed {FIXED}")
        for change in CHANGES:
            log_ratios = normal_log_ratios(rng, 4000, (change, -change / (1 + change)), sd)
            ends = ends_of(log_ratios)
            powers = " ".join(f"{fixed_power(log_ratios, blocks):4.0%}" for blocks in FIXED)
            blocks = f"{np.median(ends.blocks):3.0f} {ends.blocks.mean():5.1f}"
            print(f"{change:5.0%} | {ends.claimed.mean():4.0%} | {blocks} | {powers}", flush=True)
    print("\nharm of p95 beside +50 % throughput, block SD 0.2: comes into force | is shown")
    for harm in (0.05, 0.1, 0.2, 0.5):
        ends = ends_of(normal_log_ratios(rng, 4000, (0.5, harm), 0.2))
        print(f"{harm:4.0%} | {ends.claimed.mean():5.1%} | {ends.harmed.mean():5.1%}", flush=True)
    print("\nstated, both means better alike: change, block SD | claims | by the claim | weighted | final alone | held")
    for change, sd in ((0.2, 0.2), (0.3, 0.2), (0.5, 0.35), (1.0, 0.35), (3.0, 0.35)):
        found = stated(rng, 2000, (change, -change / (1 + change)), sd)
        by_claim, weighted, final, holds = found.mean(axis=0)
        spreads = " ".join(f"{each:.3f}" for each in found[:, 1:3].std(axis=0))
        print(
            f"{change:4.0%} {sd} | {len(found)} | {np.expm1(by_claim):5.1%} | {np.expm1(weighted):5.1%} | "
            f"{np.expm1(final):5.1%} | {holds:5.1%} | SDs {spreads}",
            flush=True,
        )


if __name__ == "__main__":
    main()
