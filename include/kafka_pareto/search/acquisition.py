"""Propose the next round's configurations: those expected to add most to the hypervolume.

Noisy expected hypervolume improvement (Daulton, Balandat and Bakshy, NeurIPS 2021): in each draw from the posterior,
measured configurations and candidates have values without noise, so a lucky measurement does not block better
configurations. They are picked one by one, each given those before it, which spreads them along the front.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import qmc

from kafka_pareto.analysis.hypervolume import REFERENCE, relative_losses, volume
from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.analysis.trials import keeps_limits, may_be_recommended
from kafka_pareto.campaign.candidates import configurations_of
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.constraints import narrowed
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.gaussian_process import Posterior, fit_posterior
from kafka_pareto.surrogates.surrogate import measured_objectives

log = logging.getLogger(__name__)

Values = npt.NDArray[np.float64]

LEAST_R2_LEAVE_ONE_OUT = 0.5
"""A CV with a lower leave-one-out R² is not searched for.

On shuffled targets of 60 trials the R² is 0.3, as the process' lengths were found on the same trials.
"""

_MEMBERS = 64
WHOLE_SPACE_UP_TO = 2048
_DRAWN_CANDIDATES = 1024


@dataclass(frozen=True)
class _Draws:
    """Log-losses relative to the baseline in each draw; infinite if a limit is missed."""

    measured: Values
    """Shape (members, measured, objectives)."""
    candidates: Values
    """Shape (members, candidates, objectives)."""


def propose(
    study: Tune,
    case: str,
    trials: pd.DataFrame,
    posteriors: Sequence[Posterior],
    front: pd.DataFrame,
    round_number: int,
    taken: Collection[str] = (),
) -> list[Configuration]:
    """Return at most `study.rounds.configurations` for the next round of one case, the most promising first.

    Candidates are the whole space if small; otherwise the surrogates' front, one-factor neighbours of the best measured
    configurations, and a Latin hypercube. None was measured before or is in `taken` (all their repetitions failed), and
    each keeps the study's rules and durability; empty if nothing is left or no gain is expected. `posteriors` are those
    of `searched_objectives`; `front` may be empty; the round number seeds the draws.
    """
    rng = np.random.default_rng([study.seed, case_seed(case), round_number])
    own = trials[(trials.case == case) & (trials.repetitions_valid > 0)]
    candidates = _candidates(study, case, own, front, taken, rng)
    known = {posterior.objective for posterior in posteriors}
    if candidates.empty or not set(study.means) <= known or not own.is_baseline.any():
        return []
    draws = _draws(study, own, candidates, posteriors, rng)
    picked = _greedy(draws, study.rounds.configurations)
    return configurations_of(candidates.iloc[picked], study)


def searched_objectives(study: Tune, trials: pd.DataFrame, prior: pd.DataFrame | None = None) -> list[Posterior]:
    """Fit each objective to all trials so far, of every case, and keep those worth searching for.

    These are the means, and each CV that the trials predict well enough. Trials of earlier campaigns (`prior`) take
    part as in `fit_posterior`.
    """
    fitted = [fit_posterior(study, trials, objective, prior) for objective in measured_objectives(trials)]
    known = [each for each in fitted if each is not None]
    searched = [
        each for each in known if each.objective in study.means or each.r2_leave_one_out >= LEAST_R2_LEAVE_ONE_OUT
    ]
    for each in known:
        log.info(
            "%s: leave-one-out R² %.2f, %s",
            each.objective,
            each.r2_leave_one_out,
            "used in the search" if each in searched else "too low to predict it: judged by measurement only",
        )
    return searched


def _candidates(
    study: Tune,
    case: str,
    measured: pd.DataFrame,
    front: pd.DataFrame,
    taken: Collection[str],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return unmeasured configurations that may be recommended, one column per factor and the case."""
    space = whole_space(study)
    if space is None:
        space = [*configurations_of(front, study), *_neighbours(study, measured), *_drawn(study, case, rng)]
    seen, found = {*measured.configuration_id, *taken}, []
    for configuration in space:
        identity = configuration_id(configuration)
        if identity not in seen and study.may_be_recommended(configuration, case):
            seen.add(identity)
            found.append(configuration)
    return pd.DataFrame(found, columns=list(study.factors)).assign(case=case)


def whole_space(study: Tune) -> list[Configuration] | None:
    """Return every combination of levels, feasible or not; None if too many, or a factor is a range."""
    levels = [factor.levels for factor in study.factors.values()]
    if any(each is None for each in levels) or math.prod(len(each or []) for each in levels) > WHOLE_SPACE_UP_TO:
        return None
    combinations = itertools.product(*(each or [] for each in levels))
    return [dict(zip(study.factors, values, strict=True)) for values in combinations]


def _neighbours(study: Tune, measured: pd.DataFrame) -> list[Configuration]:
    """Return those that differ in one factor (each level, or eight values) from the best that keep every rule."""
    losses = relative_losses(measured, study, study.means)
    if losses is None:
        return []
    sound = may_be_recommended(measured, study) & keeps_limits(measured, study)
    measured, losses = measured[sound], losses[sound]
    found: list[Configuration] = []
    for row in configurations_of(measured[non_dominated(losses)], study):
        for name, factor in study.factors.items():
            count = 8 if factor.levels is None else len(factor.levels)
            found += [{**row, name: factor.at((place + 0.5) / count)} for place in range(count)]
    return found


def _drawn(study: Tune, case: str, rng: np.random.Generator) -> list[Configuration]:
    factors = narrowed(study.factors, study.constraints, study.variables(case))
    points = qmc.LatinHypercube(d=len(factors), rng=rng).random(_DRAWN_CANDIDATES)
    return [{name: factor.at(float(x)) for (name, factor), x in zip(factors.items(), p, strict=True)} for p in points]


def _draws(
    study: Tune,
    measured: pd.DataFrame,
    candidates: pd.DataFrame,
    posteriors: Sequence[Posterior],
    rng: np.random.Generator,
) -> _Draws:
    names = [*study.factors, "case"]
    rows = pd.concat([measured[names], candidates[names]], ignore_index=True)
    baseline = int(np.flatnonzero(measured.is_baseline)[0])
    logs = {each.objective: each.samples(rows, _MEMBERS, rng) for each in posteriors}
    losses = np.stack(
        [(values - values[:, [baseline]]) * (-1 if is_maximised(name) else 1) for name, values in logs.items()], axis=-1
    )
    for limit in study.limits:
        if limit.objective in logs:
            losses[limit.excess_fraction(np.exp(logs[limit.objective])) > 0] = np.inf
    count = len(measured)
    return _Draws(losses[:, :count][:, may_be_recommended(measured, study)], losses[:, count:])


def _greedy(draws: _Draws, count: int) -> list[int]:
    """Pick candidates one by one by the volume that each adds, averaged over the draws.

    A pick never raises another candidate's gain, so an old figure is an upper bound, and only the top of the heap is
    recomputed (Minoux 1978). The first figures are cheap bounds too, as few candidates ever need an exact one.
    """
    fronts = [_front(member) for member in draws.measured]
    by_candidate = draws.candidates.swapaxes(0, 1)
    heap = [(-bound, at, -1) for at, bound in enumerate(_most_added(fronts, draws.candidates))]
    heapq.heapify(heap)
    picked: list[int] = []
    while heap and len(picked) < count:
        negative_gain, at, reckoned_after = heapq.heappop(heap)
        if negative_gain >= 0:
            break
        if reckoned_after < len(picked):
            heapq.heappush(heap, (-_added(fronts, by_candidate[at]), at, len(picked)))
            continue
        picked.append(at)
        fronts = [_front(np.vstack([front, losses])) for front, losses in zip(fronts, by_candidate[at], strict=True)]
    return picked


def _most_added(fronts: Sequence[Values], candidates: Values) -> Values:
    """Return an upper bound of each candidate's gain: its box less what the best single point covers."""
    most = np.zeros(candidates.shape[1])
    for front, losses in zip(fronts, candidates, strict=True):
        box = np.prod(np.maximum(REFERENCE - losses, 0.0), axis=1)
        if len(front):
            shared = np.maximum(REFERENCE - np.maximum(losses[:, None, :], front[None, :, :]), 0.0)
            box -= np.prod(shared, axis=2).max(axis=1)
        most += box
    return most / len(fronts)


def _added(fronts: Sequence[Values], losses: Values) -> float:
    """Return a candidate's mean gain: its box less what the front covers; losses have shape (members, objectives)."""
    added = 0.0
    for front, own in zip(fronts, losses, strict=True):
        if (own < REFERENCE).all() and not (front <= own).all(axis=1).any():
            added += float(np.prod(REFERENCE - own)) - volume(np.maximum(front, own))
    return added / len(fronts)


def _front(losses: Values) -> Values:
    inside = losses[(losses < REFERENCE).all(axis=1)]
    return inside[non_dominated(inside)] if len(inside) else inside
