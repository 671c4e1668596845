"""Simulated confirmations with a pick, the best advice and the baseline in the same blocks.

`python -m tests.simulations.advice` prints how often a loss against the advice is ruled out, how often the advice
replaces the pick, and how often a replaced pick's blocks claim a gain that does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.analysis.sequential import half_width
from tests.simulations.sequential import MARGIN, MODELS, RULE, SIZES, WANTED, After, Mask, Rule, of_campaigns

QUICK, COLD_BURST = replace(RULE, most=12, final=4), replace(RULE, most=30, final=10)
LEAST_CHANCE = 0.1
_SIGNS = np.array([1.0, -1.0])[:, np.newaxis]


@dataclass(frozen=True)
class Judged:
    """One configuration against another after each block: masks of shape (confirmations, means, blocks)."""

    good: Values
    sds: Values
    better: Mask
    worse: Mask
    harmless: Mask
    within: Mask

    @property
    def offered(self) -> Mask:
        return self.better.any(axis=1) & ~self.harmed

    @property
    def harmed(self) -> Mask:
        return (self.worse & ~self.harmless).any(axis=1)

    @property
    def recommended(self) -> Mask:
        return self.offered & self.harmless.all(axis=1)

    @property
    def rejected(self) -> Mask:
        return self.harmed | (self.within.all(axis=1) & ~self.better.any(axis=1))

    @property
    def answered(self) -> Mask:
        return self.recommended | self.rejected

    @property
    def shows(self) -> Mask:
        return (self.better | self.worse).any(axis=1)

    @property
    def may_be_worse(self) -> Mask:
        return ~self.harmless.all(axis=1) & ~self.better.any(axis=1)

    @property
    def is_open(self) -> Mask:
        return self.may_be_worse & ~self.harmed


@dataclass(frozen=True)
class Ends:
    """How simulated confirmations ended, each of shape (confirmations,).

    `today` are the blocks that the pick's decision needs, without a comparison with advice.
    """

    today: Values
    blocks: Values
    handed: Mask
    pick_offered: Mask
    not_worse: Mask
    trade_off: Mask
    better: Mask
    unasked: Mask
    stated: Values


def judged(log_ratios: Values, rule: Rule, sizes: int) -> Judged:
    """Judge throughput and p95 latency after each block; unknown intervals show nothing."""
    after = After(log_ratios, rule.deviation)
    number = np.arange(1, log_ratios.shape[-1] + 1)
    widths = after.sds * half_width(number, SIGNIFICANCE / (rule.comparisons * sizes), rule.expected_variance)
    widths[..., : rule.minimum_blocks - 1] = np.inf
    good = _SIGNS * after.means
    margin = np.where(_SIGNS > 0, np.log1p(-MARGIN), -np.log1p(MARGIN))
    within = (after.means - widths >= np.log1p(-WANTED)) & (after.means + widths <= np.log1p(WANTED))
    return Judged(good, after.sds, good - widths > 0, good + widths < 0, good - widths >= margin, within)


def ends(pick: Judged, advice: Judged, beside: Judged, rule: Rule) -> Ends:
    """End each confirmation as `steps/confirm.py` does, with the advice decided by the pick's blocks."""
    each, number = np.arange(len(pick.good)), np.arange(1, pick.good.shape[-1] + 1)
    answered = pick.answered.copy()
    answered[:, rule.most - 1] = True
    first = answered[:, : rule.most].argmax(axis=1)
    settled = (pick.answered & ~pick.rejected) | (pick.rejected & advice.answered)
    for_advice = ~settled & (number < 2 * (first + 1)[:, np.newaxis]) & (number < rule.most)
    gain = _first_end(for_advice, first)
    shows = pick.shows[each, gain]
    final = gain + rule.final * shows
    more = np.where(pick.offered[each, final], np.minimum(rule.most - gain - 1, final + 1), 0)
    going_on = _may_close(beside, final + 1 + more, rule) & (number < (final + 1 + more)[:, np.newaxis])
    end = _first_end(going_on, final)
    preferable = ~pick.offered | beside.may_be_worse
    end = end + rule.final * (preferable[each, end] & ~shows & advice.shows[each, end])
    picked = {name: getattr(pick, name)[each, end] for name in ("offered", "recommended")}
    advised = {name: getattr(advice, name)[each, end] for name in ("offered", "recommended")}
    handed = preferable[each, end] & (advised["recommended"] | (advised["offered"] & ~picked["recommended"]))
    better = np.where(handed, *(side.better.any(axis=1)[each, end] for side in (advice, pick)))
    may_be_worse = beside.may_be_worse[each, end]
    offered = picked["offered"] & ~handed
    return Ends(
        today=first + rule.final * pick.shows[each, first] + 1,
        blocks=end + 1,
        handed=handed,
        pick_offered=offered,
        not_worse=offered & beside.harmless.all(axis=1)[each, end],
        trade_off=offered & ~beside.harmless.all(axis=1)[each, end] & ~may_be_worse,
        better=better,
        unasked=np.where(handed, advised["recommended"], picked["recommended"] & ~may_be_worse),
        stated=np.where(handed, *(side.good[each, 0, end] for side in (advice, pick))),
    )


def _first_end(going_on: Mask, start: Values) -> Values:
    """Return the first place from `start` on that does not go on."""
    ended = ~going_on & (np.arange(going_on.shape[-1]) >= start[:, np.newaxis])
    found: Values = ended.argmax(axis=1)
    return found


def _may_close(beside: Judged, most: Values, rule: Rule) -> Mask:
    number = np.arange(1, beside.good.shape[-1] + 1)
    most = most[:, np.newaxis, np.newaxis]
    width = beside.sds * half_width(most, SIGNIFICANCE / rule.comparisons, rule.expected_variance)
    reach = beside.good - special.ndtri(LEAST_CHANCE) * beside.sds * np.sqrt(np.maximum(1 / number - 1 / most, 0))
    margin = np.where(_SIGNS > 0, np.log1p(-MARGIN), -np.log1p(MARGIN))
    ruled_out = (beside.harmless | (reach >= margin + width)).all(axis=1)
    found: Mask = beside.is_open & (ruled_out | (reach >= width).any(axis=1))
    return found


def drawn(
    model: str,
    confirmations: int,
    sd: float,
    rule: Rule,
    advice: float = 0.0,
    difference: float = 0.0,
    seed: int = 61,
    *,
    p95_alone: bool = False,
) -> tuple[Values, Values, Values]:
    """Draw log-ratios of pick over baseline, advice over baseline and pick over advice, which share their noise.

    `advice` is the advice's gain in both means over the baseline, and `difference` the pick's over the advice: its
    throughput is 1 + difference times the advice's, or equal with `p95_alone`; its p95 latency is that much lower, or
    higher for a loss.
    """
    rng = np.random.default_rng([seed, round(1000 * sd)])
    shape = (confirmations, 2, rule.most + rule.final)
    baseline, advised, picked = (sd / np.sqrt(2) * MODELS[model](rng, shape) for _ in range(3))
    latency = 1 - difference if difference < 0 else 1 / (1 + difference)
    advised += np.log([1 + advice, 1 / (1 + advice)])[:, np.newaxis]
    throughput = 1.0 if p95_alone else 1 + difference
    picked += np.log([(1 + advice) * throughput, latency / (1 + advice)])[:, np.newaxis]
    return picked - baseline, advised - baseline, picked - advised


def simulated(
    model: str,
    confirmations: int,
    sd: float,
    rule: Rule,
    sizes: int,
    *,
    advice: float = 0.0,
    difference: float = 0.0,
    p95_alone: bool = False,
) -> Ends:
    """Simulate confirmations of one record size in a campaign of `sizes`."""
    log_ratios = drawn(model, confirmations, sd, rule, advice, difference, p95_alone=p95_alone)
    return ends(*judged_all(log_ratios, rule, sizes), rule)


def judged_all(log_ratios: tuple[Values, Values, Values], rule: Rule, sizes: int) -> tuple[Judged, Judged, Judged]:
    """Judge both against the baseline, jointly over all sizes, and the pick against the advice, at each size."""
    of_pick, of_advice, beside = log_ratios
    return judged(of_pick, rule, sizes), judged(of_advice, rule, sizes), judged(beside, rule, 1)


def false_gains(model: str, rule: Rule, confirmations: int, sds: tuple[float, ...] = (0.15, 0.3)) -> Values:
    """Return the share of campaigns that claim a gain if pick, advice and baseline are equal.

    Shape (3, sizes): without advice, with the advice decided by the same blocks, and by new ones; the largest over the
    standard deviations, at each number of record sizes.
    """
    found = []
    for sd in sds:
        log_ratios = drawn(model, confirmations, sd, rule)
        again = After(drawn(model, confirmations, sd, rule, seed=62)[0], rule.deviation)
        of_sizes = []
        for sizes in SIZES:
            alone = After(log_ratios[0], rule.deviation).ends(rule, sizes).better.any(axis=1)
            same = ends(*judged_all(log_ratios, rule, sizes), rule)
            new = np.where(same.pick_offered, alone, again.ends(rule, sizes).better.any(axis=1))
            of_sizes.append([of_campaigns(float(each.mean()), sizes) for each in (alone, same.better, new)])
        found.append(of_sizes)
    largest: Values = np.max(found, axis=0).T
    return largest


def main() -> None:
    print("pick, advice and baseline equal: campaigns of", SIZES, "sizes that claim a gain")
    print("no advice | advice by the same blocks | advice by new blocks, wherever the pick is not offered")
    for name, rule in (("12, 4", QUICK), ("30, 10", COLD_BURST)):
        for model in MODELS:
            shares = false_gains(model, rule, 8_000)
            print(f"{name:6} {model:34} | " + " | ".join(" ".join(f"{each:6.2%}" for each in row) for row in shares))
    print("\nfive sizes, advice 50 % better than the baseline; pick against advice, SD, blocks:")
    print("pick: loss ruled out | trade-off | approval || advice instead | neither || blocks today, now, most times")
    for name, rule in (("12, 4", QUICK), ("30, 10", COLD_BURST)):
        for sd in (0.15, 0.3):
            for difference in (-0.1, 0.0, 0.1, 0.25, 0.5):
                found = simulated("normal", 10_000, sd, rule, 5, advice=0.5, difference=difference)
                asked = found.pick_offered & ~found.not_worse & ~found.trade_off
                neither = ~found.pick_offered & ~found.handed
                shares = " | ".join(f"{each.mean():6.2%}" for each in (found.not_worse, found.trade_off, asked))
                others = " | ".join(f"{each.mean():6.2%}" for each in (found.handed, neither))
                times = (found.blocks / found.today).max()
                blocks = f"{found.today.mean():4.1f}, {found.blocks.mean():4.1f}, {times:.2f}"
                print(f"{difference:+5.0%} {sd:4} {name:6} | {shares} || {others} || {blocks}", flush=True)
    print("\na p95 latency 10 % higher than the advice's, equal throughput; SD, blocks: loss ruled out")
    for name, rule in (("12, 4", QUICK), ("30, 10", COLD_BURST)):
        for sd in (0.05, 0.1, 0.15, 0.3):
            found = simulated("normal", 10_000, sd, rule, 5, advice=0.5, difference=-0.1, p95_alone=True)
            print(f"{sd:4} {name:6} | {found.not_worse.mean():6.2%}", flush=True)
    print("\nstated throughput gain of advice that replaced an equal pick: true gain, SD, blocks: share, stated")
    for name, rule in (("12, 4", QUICK), ("30, 10", COLD_BURST)):
        for gain, sd in ((0.2, 0.15), (0.5, 0.15), (0.5, 0.3)):
            found = simulated("normal", 10_000, sd, rule, 5, advice=gain)
            stated = np.expm1(found.stated[found.handed].mean())
            print(f"{gain:4.0%} {sd:4} {name:6} | {found.handed.mean():4.0%} | {stated:6.1%}")


if __name__ == "__main__":
    main()
