"""Run the one shot at budgets far below the paper's own 910 repetitions."""

from __future__ import annotations

import numpy as np

from benchmarks.strategies.table import Asking, Strategy
from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.candidates import configurations_of
from kafka_pareto.campaign.design import latin_hypercube
from kafka_pareto.decision.confirmation_candidates import select_candidates
from kafka_pareto.search.pareto_search import search
from kafka_pareto.study.cases import case_seed
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.surrogate import feature_encoding, fit_surrogate, measured_objectives


def one_shot_within(budget: int) -> Strategy:
    """Return a strategy: half of the budget is for baseline and Latin hypercube, the rest for points of the front.

    Each configuration is measured once. Surrogates and NSGA-III are those of `strategy: one_shot` with the study's own
    settings. Without repetitions there are no CVs, so it searches two objectives. A front that is too small is filled
    up with the best measured, as in the pipeline. If it is asked for more, it measures the design and the points again.
    """

    def asking(study: Tune, case: str, seed: int) -> Asking:
        study = study.model_copy(update={"seed": seed, "strategy": "one_shot"})
        rng = np.random.default_rng([seed, case_seed(case)])
        half = budget // 2
        design = latin_hypercube(study, half - 1, case, rng)
        trials = summarise_trials((yield [study.baseline_configuration(), *design]), study)
        encoding = feature_encoding(study, trials)
        surrogates = {each: fit_surrogate(study, encoding, trials, each) for each in measured_objectives(trials)}
        front = search(study, case, surrogates, trials).front
        points = configurations_of(select_candidates(front, trials, study, budget - half), study)
        yield points
        while True:
            yield [*design, *points]

    return asking
