"""Run this project's two strategies, by the library's own design, surrogates, search and proposals."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from benchmarks.strategies.plain import DESIGN, at_most
from benchmarks.strategies.table import Asking
from kafka_pareto.analysis.hypervolume import relative_losses
from kafka_pareto.analysis.pareto import non_dominated
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.candidates import configurations_of
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.search.acquisition import propose, searched_objectives
from kafka_pareto.search.pareto_search import search
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.prior_trials import best_known
from kafka_pareto.surrogates.surrogate import feature_encoding, fit_surrogate, measured_objectives

NO_FRONT = pd.DataFrame()
"""The table's space is small: each round's candidates are all of it."""

ONE_SHOT_REPETITIONS = 10
ONE_SHOT_POINTS = 30


def rounds(study: Tune, case: str, seed: int, prior: pd.DataFrame | None = None) -> Asking:
    """Run `strategy: rounds`, with the baseline in each round, for as long as it is asked.

    With a `prior` (`PRIOR_TRIAL_COLUMNS` and factors) it starts warm, with the prior's trials.

    The pipeline ends with its fourth round, or when two rounds have brought too little, and measures the best again in
    blocks. Here rounds follow without end. If no new configuration promises anything, the rest of a round goes to the
    non-dominated configurations so far, those with the fewest repetitions first.
    """
    return _rounds(study, case, seed, prior, repeats_baseline=True)


def rounds_of_four(study: Tune, case: str, seed: int) -> Asking:
    """Run `rounds` in batches of four that leave the baseline out, as the peers' batches do.

    It shows what the search finds where nothing drifts; the pipeline repeats the baseline to correct for drift.
    """
    study = study.model_copy(update={"rounds": study.rounds.model_copy(update={"configurations": 4})})
    return _rounds(study, case, seed, None, repeats_baseline=False)


def _rounds(study: Tune, case: str, seed: int, prior: pd.DataFrame | None, *, repeats_baseline: bool) -> Asking:
    study = study.model_copy(update={"seed": seed})
    rng = np.random.default_rng([seed, case_seed(case)])
    repeated = [study.baseline_configuration()] if repeats_baseline else []
    count = study.design.configurations or 0
    known = [] if prior is None else best_known(study, prior, case, count // 2)
    design = [*known, *latin_hypercube(study, count - len(known), case, rng, beside=known)]
    repetitions = yield [study.baseline_configuration(), *design]
    for number in itertools.count(1):
        trials = summarise_trials(repetitions, study)
        posteriors = searched_objectives(study, trials, prior)
        proposed = propose(study, case, trials, posteriors, NO_FRONT, number)
        again = _to_measure_again(study, trials, study.rounds.configurations - len(proposed))
        repetitions = [*repetitions, *(yield [*repeated, *proposed, *again])]


def one_shot(study: Tune, case: str, seed: int) -> Asking:
    """Run the paper's strategy: 60 configurations, then 30 points of the front, ten repetitions each.

    As in the paper, it searches all four objectives. If it is asked for more, it measures the design and the points
    again.
    """
    study = study.model_copy(update={"seed": seed})
    rng = np.random.default_rng([seed, case_seed(case)])
    design = latin_hypercube(study, at_most(DESIGN, study, case), case, rng)
    repetitions: list[Repetition] = []
    for configuration in [study.baseline_configuration(), *design]:
        repetitions += yield [configuration] * ONE_SHOT_REPETITIONS
    trials = summarise_trials(repetitions, study)
    encoding = feature_encoding(study, trials)
    surrogates = {each: fit_surrogate(study, encoding, trials, each) for each in measured_objectives(trials)}
    front = search(study, case, surrogates, trials).front
    points = select_candidates(front, trials, study, ONE_SHOT_POINTS)
    chosen = configurations_of(points, study)
    for configuration in chosen:
        yield [configuration] * ONE_SHOT_REPETITIONS
    while True:
        yield [*design, *chosen]


def _to_measure_again(study: Tune, trials: pd.DataFrame, count: int) -> list[Configuration]:
    losses = relative_losses(trials, study, PRODUCER.means)
    if losses is None or count <= 0:
        return []
    best = trials[non_dominated(losses)].sort_values(["repetitions_valid", "configuration_id"])
    return list(itertools.islice(itertools.cycle(configurations_of(best, study)), count))
