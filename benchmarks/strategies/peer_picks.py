"""Hand over what strategies without this project's confirmation would: the best of one or five, TUNA, a tournament.

All choose by the balanced gain, log throughput minus log p95 latency over the baseline's, and promise what they have
measured of it. Each keeps the baseline where nothing beats it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from sklearn.ensemble import RandomForestRegressor

from benchmarks.strategies.noisy_grid import Grid, Pick, World, places_of
from benchmarks.strategies.table import CASE, Answer, Values, recorded_table
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.study.cases import case_seed
from kafka_pareto.surrogates.gaussian_process import inputs

PlaceArray: TypeAlias = npt.NDArray[np.int_]

_TUNA_BUDGETS = (1, 3, 10)
_TREES = 30
_FINALISTS = 4


def best_of_one(world: World, budget: int) -> Pick:
    """Measure a Latin hypercube and the baseline once."""
    return _best_mean(world, budget, 1)


def best_mean_of_five(world: World, budget: int) -> Pick:
    """Measure a Latin hypercube and the baseline in five blocks."""
    return _best_mean(world, budget, 5)


def _best_mean(world: World, budget: int, blocks: int) -> Pick:
    grid = world.grid(budget)
    places = _design(world, budget // blocks - 1)
    return _pick(grid, places, _mean_gains(grid, places, blocks))


def _mean_gains(grid: Grid, places: PlaceArray, blocks: int) -> Values:
    """Measure the baseline and these configurations in blocks."""
    means = np.mean([grid.balanced([grid.baseline, *places]) for _ in range(blocks)], axis=0)
    gains: Values = means[1:] - means[0]
    return gains


def tuna(world: World, budget: int, unstable_range: float) -> Pick:
    """Repeat what is promising one, three and ten times, and drop what varies too much: TUNA's idea.

    After Freischuetz et al., TUNA: Tuning Unstable and Noisy Cloud Applications (EuroSys 2025, arXiv 2503.01801), and
    its published code: successive halving to ten samples, a third of the configurations at each step. A configuration
    counts by its worst sample, and so does the baseline. Where the range of its samples reaches a share of their mean,
    it is unstable, and does not advance. There a sample is another machine, here another block. Half of the
    configurations are drawn, half are proposed by a random forest, as in SMAC. The model that corrects samples by the
    machines' metrics is left out, since the recording has none.

    Args:
        world: What it measures.
        budget: Repetitions at most.
        unstable_range: The share; 0.3 in their code.
    """
    grid, count = world.grid(budget), _affordable(budget)
    baseline = [grid.balanced([grid.baseline])[0] for _ in range(_TUNA_BUDGETS[-1])]
    places = _design(world, count - count // 2)
    scores = grid.balanced(places)
    proposed = _by_forest(world, places, scores, count // 2)
    places, samples = np.concatenate([places, proposed]), np.concatenate([scores, grid.balanced(proposed)])[:, None]
    for repetitions in _TUNA_BUDGETS[1:]:
        stable = relative_range(samples) < unstable_range
        kept = _best(np.flatnonzero(stable), samples[stable].min(axis=1), len(places) // 3)
        more = [grid.balanced(places[kept]) for _ in range(repetitions - samples.shape[1])]
        places, samples = places[kept], np.column_stack([samples[kept], *more])
    stable = relative_range(samples) < unstable_range
    return _pick(grid, places[stable], samples[stable].min(axis=1) - min(baseline))


def relative_range(scores: Values) -> Values:
    """Return the range over the mean of throughput over p95 latency, from its logarithms, shape (..., samples)."""
    values = np.exp(scores - scores.mean(axis=-1, keepdims=True))
    found: Values = np.ptp(values, axis=-1) / values.mean(axis=-1)
    return found


def tournament(world: World, budget: int) -> Pick:
    """Plays games of four within a block; the better half of each advances, and the last four play with the baseline.

    After the idea of DarwinGame (Playing Tournaments for Tuning Applications in Noisy Cloud Environments, arXiv
    2509.25090): only relative comparisons under the same noise count. A third of the budget are the players. The last
    four and the baseline are in all blocks that are left; the best mean there wins.
    """
    grid, rng = world.grid(budget), np.random.default_rng([world.seed, budget])
    players = np.array(_design(world, budget // 3))
    while len(players) > _FINALISTS:
        games = np.array_split(rng.permutation(players), math.ceil(len(players) / _FINALISTS))
        players = np.concatenate([_best(game, grid.balanced(game), math.ceil(len(game) / 2)) for game in games])
    blocks = (budget - grid.repetitions_measured) // (1 + len(players))
    return _pick(grid, players, _mean_gains(grid, players, blocks))


def _best(places: PlaceArray, scores: Values, count: int) -> PlaceArray:
    return places[np.argsort(-scores, kind="stable")[:count]]


def _pick(grid: Grid, places: PlaceArray, gains: Values) -> Pick:
    if not len(gains) or gains.max() <= 0:
        return Pick(None, grid.repetitions_measured)
    return Pick(int(places[gains.argmax()]), grid.repetitions_measured, float(gains.max()))


def _design(world: World, configurations: int) -> PlaceArray:
    rng = np.random.default_rng([world.seed, case_seed(CASE)])
    return np.array(places_of(latin_hypercube(world.study, configurations, CASE, rng)))


def _affordable(budget: int) -> int:
    """Return how many configurations TUNA begins with: the most whose halving, and the baseline, fit the budget."""
    first, second, third = _TUNA_BUDGETS

    def cost(count: int) -> int:
        return count * first + count // 3 * (second - first) + count // 9 * (third - second) + third

    return max(count for count in range(budget) if cost(count) <= budget)


def _by_forest(world: World, places: PlaceArray, scores: Values, count: int) -> PlaceArray:
    """Return the configurations from which a random forest expects the largest improvements on the best score."""
    x = _inputs()
    forest = RandomForestRegressor(_TREES, min_samples_leaf=2, random_state=world.seed).fit(x[places], scores)
    by_tree = np.array([tree.predict(x) for tree in forest.estimators_])
    spread = by_tree.std(axis=0) + 1e-9
    z = (by_tree.mean(axis=0) - scores.max()) / spread
    expected = spread * (z * stats.norm.cdf(z) + stats.norm.pdf(z))
    expected[[world.baseline, *places]] = -np.inf
    return _best(np.arange(len(x)), expected, count)


@cache
def _inputs() -> Values:
    table = recorded_table()
    every = table.repetitions([Answer(place, 0) for place in range(len(table.losses))])
    return inputs(World(None, 0).study, pd.DataFrame([each.configuration for each in every]).assign(case=CASE))
