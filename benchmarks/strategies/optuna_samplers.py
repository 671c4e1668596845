"""Run Optuna's NSGA-III and TPE samplers (Akiba et al., 2019; Deb and Jain, 2014; Ozaki et al., 2022) as strategies.

One trial is one repetition, through the library's ask-and-tell interface. A categorical factor stays categorical. An
ordered factor becomes an integer: the index of its level, or the number itself if the study gives a range. Constraints
on a single factor narrow its levels. Any other infeasible proposal ends its trial as pruned, with a constraint that it
broke. NSGA-III takes no parents from such trials, TPE learns to avoid them, and none costs a repetition.
"""

from __future__ import annotations

from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, NSGAIIISampler, TPESampler
from optuna.trial import TrialState

from benchmarks.strategies.answers import log_objectives
from benchmarks.strategies.table import Asking
from kafka_pareto.study.constraints import narrowed
from kafka_pareto.study.factors import CategoricalFactor, Factor, FactorValue
from kafka_pareto.study.tune import Tune


def optuna_nsga3(study: Tune, case: str, seed: int) -> Asking:
    """Run Optuna's `NSGAIIISampler`: a population of 50 at random, then its offspring."""
    return _ask_and_tell(study, case, NSGAIIISampler(seed=seed))


def optuna_tpe(study: Tune, case: str, seed: int) -> Asking:
    """Run Optuna's `TPESampler` for several objectives: ten random trials, then what the better ones have in common.

    The factors are modelled jointly. On the recorded grid this finds more than the default, one factor at a time.
    """
    return _ask_and_tell(study, case, TPESampler(seed=seed, multivariate=True))


def _ask_and_tell(study: Tune, case: str, sampler: BaseSampler) -> Asking:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    factors = narrowed(study.factors, study.constraints, study.variables(case))
    distributions = {name: _distribution(factor) for name, factor in factors.items()}
    trials = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    while True:
        trial = trials.ask(distributions)
        configuration = {name: _value(factor, trial.params[name]) for name, factor in factors.items()}
        if not study.may_be_recommended(configuration, case):
            trial.set_constraint("may_be_recommended", 1.0)
            trials.tell(trial, state=TrialState.PRUNED)
            continue
        (repetition,) = yield [configuration]
        objectives = log_objectives(study, repetition)
        trials.tell(trial, objectives, state=TrialState.COMPLETE if objectives else TrialState.FAIL)


def _distribution(factor: Factor) -> BaseDistribution:
    if isinstance(factor, CategoricalFactor):
        return CategoricalDistribution(factor.levels)
    if factor.levels is not None:
        return IntDistribution(0, len(factor.levels) - 1)
    low, high = (int(end) for end in factor.extremes())
    return IntDistribution(low, high, log=factor.scale == "log")


def _value(factor: Factor, parameter: Any) -> FactorValue:
    """Return the factor's value for the sampler's suggestion, which is an index for levels of a numeric factor."""
    if isinstance(factor, CategoricalFactor) or factor.levels is None:
        value: FactorValue = parameter
        return value
    return factor.levels[int(parameter)]
