"""Fit a Gaussian process per objective: the expected value of every configuration, and its uncertainty.

The campaign's surrogates are gradient-boosted trees: no scaling, and at the noise ceiling on a whole design. The next
measurement's best place depends on uncertainty, which a Gaussian process quantifies better. Trained on 60 to 120 single
repetitions of the recorded grid of `benchmarks/`, it also leaves a quarter less variance unexplained.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Matern, WhiteKernel

from kafka_pareto.analysis.hypervolume import logarithms
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.study.factors import CategoricalFactor, Column, Factor
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.sentinel_shift import error_variances, rebased

MOST_TRIALS = 450
"""The maximum for one process, whose time grows with their cube. Shipped studies have fewer."""
TRIALS_OF_MANY = 200
"""Sample size above `MOST_TRIALS`.

More trials mean more cases, and a process for each group of cases, objective and fold; at `MOST_TRIALS` each fit would
take eleven times as long.
"""
_MINIMUM_TRIALS = 5
_JITTER = 1e-8
_SAMPLING_JITTER = 1e-6


@dataclass(frozen=True)
class Posterior:
    """A fitted process of one objective's logarithm, less `centre`, over `scale`."""

    objective: ObjectiveName
    r2_leave_one_out: float
    process: GaussianProcessRegressor
    centre: float
    scale: float
    _study: Tune

    def samples(self, configurations: pd.DataFrame, members: int, rng: np.random.Generator) -> Values:
        """Draw the objective's logarithm jointly at all rows, shape (members, rows), without measurement noise."""
        mean, covariance = self.process.predict(inputs(self._study, configurations), return_cov=True)
        # Rows that are nearly alike would leave no Cholesky factor; eigenvectors would take thirty times as long.
        root = np.linalg.cholesky(covariance + _SAMPLING_JITTER * np.eye(len(mean)))
        drawn: Values = mean + rng.standard_normal((members, len(mean))) @ root.T
        return drawn * self.scale + self.centre


@dataclass(frozen=True)
class _Evidence:
    """Logarithms of one objective; `extra_variance` adds to the noise of the repetitions."""

    x: Values
    logs: Values
    repetitions: Values
    extra_variance: Values


def fit_posterior(
    study: Tune, trials: pd.DataFrame, objective: ObjectiveName, prior: pd.DataFrame | None = None
) -> Posterior | None:
    """Fit the process to all trials that measured the objective; None below five trials or without spread.

    Matern 5/2 with a length per input (Rasmussen and Williams 2006, ch. 4 and 5). The noise of a single repetition is
    found with the lengths, by marginal likelihood; a trial of n repetitions has an nth of its variance. A trial of an
    earlier campaign (`prior`, as `PRIOR_TRIAL_COLUMNS` and factors) takes part with its value rebased to today and more
    noise: its repetitions lose weight with age, and the measured or possible error of its campaign's values is added.
    """
    rows = trials[trials[objective].notna() & (trials.repetitions_valid > 0)]
    if len(rows) < _MINIMUM_TRIALS:
        return None
    evidence = _evidence(study, rows, objective, prior)
    today = evidence.logs[: len(rows)]
    centre, scale = float(today.mean()), float(today.std())
    if scale == 0:
        return None
    y, extra = (evidence.logs - centre) / scale, evidence.extra_variance / scale**2
    signal, noise = _learned(evidence.x, y, evidence.repetitions, extra)
    alpha = noise / evidence.repetitions + extra + _JITTER
    process = GaussianProcessRegressor(signal, alpha=alpha, optimizer=None).fit(evidence.x, y)
    r2 = _r2_leave_one_out(process, y, rows.case.to_numpy())
    return Posterior(objective, r2, process, centre, scale, study)


def at_most(study: Tune, trials: pd.DataFrame, most: int = MOST_TRIALS) -> pd.DataFrame:
    """Return the trials; if more than `most`, `TRIALS_OF_MANY` drawn by the study's seed."""
    if len(trials) <= most:
        return trials
    return trials.sample(min(most, TRIALS_OF_MANY), random_state=study.seed).sort_index()


def neighbouring_cases(study: Tune, trials: pd.DataFrame) -> list[list[str]]:
    """Split the study's cases, in order, into groups to fit a process to: one, unless the trials are too many."""
    if len(trials) <= MOST_TRIALS:
        return [study.cases]
    most, counts = TRIALS_OF_MANY, trials.case.value_counts()
    groups, in_group = list[list[str]](), 0
    for case in study.cases:
        own = int(counts.get(case, 0))
        if not groups or in_group + own > most:
            groups.append([])
            in_group = 0
        groups[-1].append(case)
        in_group += own
    return groups


def _evidence(study: Tune, rows: pd.DataFrame, objective: ObjectiveName, prior: pd.DataFrame | None) -> _Evidence:
    """Return today's rows, then those of earlier campaigns."""
    x, logs = inputs(study, rows), logarithms(rows, study, objective)
    repetitions, extra = rows.repetitions_valid.to_numpy(dtype=float), np.zeros(len(rows))
    earlier = rows.iloc[:0] if prior is None else rebased(study, prior, rows, objective)
    if len(earlier) < _MINIMUM_TRIALS:
        return _Evidence(x, logs, repetitions, extra)
    x_then, logs_then = inputs(study, earlier), earlier.log_value.to_numpy(dtype=float)
    counts = earlier.repetitions_valid.to_numpy(dtype=float)
    repetition_variance_then = _repetition_variance(x_then, logs_then, counts)
    aged = repetition_variance_then / counts * (1.0 / earlier.weight.to_numpy(dtype=float) - 1.0)
    # Noise learned on both would explain away their disagreement; the smaller of the two alone is cautious.
    repetition_variance = min(repetition_variance_then, _repetition_variance(x, logs, repetitions))
    return _Evidence(
        np.concatenate([x, x_then]),
        np.concatenate([logs, logs_then]),
        np.concatenate([repetitions, counts]),
        np.concatenate([extra, aged + error_variances(earlier, repetition_variance)]),
    )


def _repetition_variance(x: Values, logs: Values, repetitions: Values) -> float:
    scale = float(logs.std()) or 1.0
    _, noise = _learned(x, (logs - logs.mean()) / scale, repetitions, np.zeros(len(logs)))
    return noise * scale**2


def _learned(x: Values, y: Values, repetitions: Values, extra_variance: Values) -> tuple[Kernel, float]:
    """Return the signal's kernel and the variance of a single repetition, by marginal likelihood."""
    usual = 1.0 / float(np.mean(1.0 / repetitions))
    signal = ConstantKernel(1.0, (0.05, 20.0)) * Matern(np.ones(x.shape[1]), (0.1, 20.0), nu=2.5)
    process = GaussianProcessRegressor(signal + WhiteKernel(0.1, (1e-3, 1.0)), alpha=_JITTER + extra_variance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length at its bound: the input does not matter
        learned = process.fit(x, y).kernel_
    return learned.k1, learned.k2.noise_level * usual


def inputs(study: Tune, configurations: pd.DataFrame) -> Values:
    """Return the process' inputs: logs of numbers, scaled to 0 … 1 over the factor or the cases, and 0 or 1 per level.

    A case without numeric features is a category.
    """
    columns: list[Values] = []
    for name, factor in study.factors.items():
        if isinstance(factor, CategoricalFactor):
            columns += [(configurations[name] == level).to_numpy().astype(np.float64) for level in factor.levels]
        else:
            columns.append(_on_log_scale(configurations[name].to_numpy(dtype=float), factor))
    if len(study.cases) > 1:
        columns += _of_cases(study, configurations["case"].to_numpy())
    return np.column_stack(columns)


def _of_cases(study: Tune, cases: Column) -> list[Values]:
    features = study.declaration.case_features
    if not features:
        return [(cases == case).astype(np.float64) for case in study.cases]
    columns = []
    for feature in features:
        known = np.log(feature.values({"case": np.array(study.cases)}))
        span = known.max() - known.min()
        columns.append((np.log(feature.values({"case": cases})) - known.min()) / (span if span > 0 else 1.0))
    return columns


def _on_log_scale(values: Values, factor: Factor) -> Values:
    ends = np.log1p(np.maximum(np.array(factor.extremes(), dtype=float), 0.0))
    span = ends.max() - ends.min()
    scaled: Values = (np.log1p(np.maximum(values, 0.0)) - ends.min()) / (span if span > 0 else 1.0)
    return scaled


def _r2_leave_one_out(process: GaussianProcessRegressor, y: Values, cases: npt.NDArray[np.object_]) -> float:
    """Return 1 - squared leave-one-out errors over the spread within cases (Rasmussen and Williams, eq. 5.12).

    Over the total spread, the case alone would explain most of it. Today's trials come first in `y`, one per entry of
    `cases`.
    """
    half = np.linalg.inv(process.L_)
    precision = half.T @ half
    errors = ((precision @ y) / np.diag(precision))[: len(cases)]
    y = y[: len(cases)]
    spread = sum(float(np.sum((y[cases == case] - y[cases == case].mean()) ** 2)) for case in np.unique(cases))
    return 1.0 - float(np.sum(errors**2)) / spread if spread > 0 else 0.0
