"""Group levels without significant difference by letters (compact letter display)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain, combinations, count
from string import ascii_letters

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.interpolate import CubicSpline

from kafka_pareto.analysis.rounding import Values, has_spread

Differences = npt.NDArray[np.bool_]
_ALPHA = 0x3B1
# Beyond it, a range of 1,000 standard normal values has a probability below 1e-11.
_WIDEST = 12.0
_RANGE_KNOTS = 1201
_NEGLIGIBLE = 1e-14
_gauss_legendre = cache(np.polynomial.legendre.leggauss)


def letters_of(samples: Sequence[Values], *, maximised: bool, significance: float) -> list[str]:
    """Return each sample's letters, the best sample's first: samples that share one do not differ significantly.

    Games and Howell's test of the logs, with the significance for all pairs together. A sample that cannot be tested
    has no letter: fewer than two values, a value of zero or below, or no spread.
    """
    logs = {at: np.log(sample) for at, sample in enumerate(samples) if len(sample) and np.min(sample) > 0}
    tested = {at: log for at, log in logs.items() if len(log) >= 2 and has_spread(log, scale=1.0)}
    letters = [""] * len(samples)
    if len(tested) < 2:
        return letters
    best_first = sorted(tested, key=lambda at: float(np.mean(tested[at])), reverse=maximised)
    differences = games_howell([tested[at] for at in best_first]) < significance
    for at, found in zip(best_first, compact_letters(differences), strict=True):
        letters[at] = found
    return letters


def games_howell(samples: Sequence[Values]) -> Values:
    """Return the p-values of equal means for all pairs, adjusted; shape (samples, samples), 1 on the diagonal.

    Welch's statistic and degrees of freedom with the studentized range (Games and Howell, Journal of Educational
    Statistics 1, 1976), as `scipy.stats.tukey_hsd` with `equal_var=False`. Each of the two or more samples has two or
    more values that differ.
    """
    size = np.array([len(each) for each in samples])
    mean = np.array([np.mean(each) for each in samples])
    error = np.array([np.var(each, ddof=1) for each in samples]) / size
    first, second = np.triu_indices(len(samples), k=1)
    both = error[first] + error[second]
    freedom = both**2 / (error[first] ** 2 / (size[first] - 1) + error[second] ** 2 / (size[second] - 1))
    statistic = np.abs(mean[first] - mean[second]) / np.sqrt(both / 2)
    p_values = np.ones((len(samples), len(samples)))
    p_values[first, second] = p_values[second, first] = studentized_range_sf(statistic, len(samples), freedom)
    return p_values


def compact_letters(differences: Differences) -> list[str]:
    """Return letters such that two samples share one exactly if they do not differ.

    Insert-and-absorb (Piepho, Journal of Computational and Graphical Statistics 13, 2004): one group of all samples is
    split at each difference, and a group inside another is absorbed. `differences` is symmetric, the best sample first.
    """
    groups = {frozenset(range(len(differences)))}
    for pair in combinations(range(len(differences)), 2):
        if differences[pair]:
            halves = {group - {either} for group in groups if group.issuperset(pair) for either in pair}
            halves |= {group for group in groups if not group.issuperset(pair)}
            groups = {group for group in halves if not any(group < other for other in halves)}
    letters = chain(ascii_letters, map(chr, count(_ALPHA)))
    named = list(zip(letters, sorted(groups, key=sorted), strict=False))
    return ["".join(letter for letter, group in named if at in group) for at in range(len(differences))]


def studentized_range_sf(statistics: Values, groups: int, freedom: Values) -> Values:
    """Return the probability of a studentized range above each statistic, shape (pairs,).

    The double integral of Lund and Lund (Applied Statistics 32, 1983, algorithm AS 190), as in scipy, which takes 15 ms
    for each statistic; a table of 20 levels has 190 pairs. `freedom` is 1 or more, shape (pairs,).
    """
    nodes, weights = _gauss_legendre(200)
    half = freedom[:, np.newaxis] / 2
    # Over the deviation's logarithm, since its density has no derivative at zero for less than two degrees of freedom.
    least = np.log(special.gammaincinv(half, _NEGLIGIBLE) / half) / 2
    most = np.log(special.gammainccinv(half, _NEGLIGIBLE) / half) / 2
    log_deviation = least + (most - least) * (nodes + 1) / 2
    deviation = np.exp(log_deviation)
    log_scale = np.log(2) + half * np.log(half) - special.gammaln(half)
    density = np.exp(log_scale + 2 * half * log_deviation - half * deviation**2)
    beyond = _range_sf(groups)(np.minimum(statistics[:, np.newaxis] * deviation, _WIDEST))
    tail: Values = np.clip(((density * beyond) @ weights) * (most - least)[:, 0] / 2, 0.0, 1.0)
    return tail


@lru_cache(maxsize=64)
def _range_sf(groups: int) -> CubicSpline:
    """Return the probability that standard normal values have a wider range, as a function of the width."""
    nodes, weights = _gauss_legendre(200)
    highest = nodes * 9.0
    width = np.linspace(0, _WIDEST, _RANGE_KNOTS)[:, np.newaxis]
    within = special.ndtr(highest) - special.ndtr(highest - width)
    density = np.exp(-(highest**2) / 2) / np.sqrt(2 * np.pi)
    narrower = groups * ((density * within ** (groups - 1)) @ weights) * 9.0
    return CubicSpline(width[:, 0], 1 - narrower)
