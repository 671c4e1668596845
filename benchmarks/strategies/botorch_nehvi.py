"""Run BoTorch's noisy expected hypervolume improvement (Daulton et al., 2021; Ament et al., 2023) as a strategy.

Two Gaussian processes, for log p95 latency and log throughput, infer their noise and learn from every single
repetition. After the baseline and a Latin hypercube of 16, batches of four maximise qLogNEHVI over all candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf_discrete
from botorch.sampling.normal import SobolQMCNormalSampler
from botorch.utils.sampling import manual_seed
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy.spatial.distance import cdist
from scipy.stats import qmc
from torch import Tensor

from benchmarks.strategies.answers import log_objectives
from benchmarks.strategies.plain import all_candidates
from benchmarks.strategies.table import Asking
from kafka_pareto.analysis.hypervolume import REFERENCE
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.gaussian_process import inputs

INITIAL_CONFIGURATIONS = 16
BATCH = 4
MONTE_CARLO_SAMPLES = 128

Matrix = npt.NDArray[np.float64]


def botorch_nehvi(study: Tune, case: str, seed: int) -> Asking:
    """Maximises qLogNEHVI over every configuration that may be recommended; asks for the baseline first.

    Raises:
        StudyError: If the candidates cannot be listed (`all_candidates`).
    """
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    candidates = all_candidates(study, case)
    points = torch.from_numpy(_encoded(candidates, study))
    baseline = torch.from_numpy(_encoded([study.baseline_configuration()], study))
    asked: list[Tensor] = []
    gains: list[tuple[float, float]] = []
    batch = [study.baseline_configuration(), *_latin_hypercube(candidates, study, rng)]
    while True:
        for configuration, repetition in zip(batch, (yield batch), strict=True):
            objectives = log_objectives(study, repetition)
            if objectives is not None:
                asked.append(torch.from_numpy(_encoded([configuration], study)))
                gains.append((-objectives[0], objectives[1]))
        with manual_seed(int(rng.integers(2**31))):
            chosen = _most_promising(points, baseline, torch.cat(asked), torch.tensor(gains, dtype=torch.double))
        batch = [candidates[at] for at in chosen]


def _encoded(configurations: Sequence[Configuration], study: Tune) -> Matrix:
    return inputs(study, pd.DataFrame(configurations))


def _latin_hypercube(candidates: Sequence[Configuration], study: Tune, rng: np.random.Generator) -> list[Configuration]:
    """Return the candidates nearest to the points of a Latin hypercube over their levels, none twice."""
    levels = [list(dict.fromkeys(each[name] for each in candidates)) for name in study.factors]
    positions = qmc.LatinHypercube(d=len(levels), rng=rng).random(min(INITIAL_CONFIGURATIONS, len(candidates)))
    drawn = [
        {name: own[int(u * len(own))] for name, own, u in zip(study.factors, levels, row, strict=True)}
        for row in positions
    ]
    taken: list[int] = []
    for distances in cdist(_encoded(drawn, study), _encoded(candidates, study)):
        distances[taken] = np.inf
        taken.append(int(distances.argmin()))
    return [candidates[at] for at in taken]


def _most_promising(candidates: Tensor, baseline: Tensor, asked: Tensor, gains: Tensor) -> list[int]:
    """Return the indices of the batch with the largest qLogNEHVI, under a model of the gains so far."""
    model = SingleTaskGP(asked, gains)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        reference = model.posterior(baseline).mean[0] - REFERENCE
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        model=model,
        ref_point=reference,
        X_baseline=torch.unique(asked, dim=0),
        sampler=SobolQMCNormalSampler(torch.Size([MONTE_CARLO_SAMPLES]), seed=int(torch.randint(2**31, (1,)))),
        prune_baseline=True,
    )
    chosen, _ = optimize_acqf_discrete(acquisition, q=min(BATCH, len(candidates)), choices=candidates)
    return [int((candidates == point).all(dim=1).nonzero()[0]) for point in chosen]
