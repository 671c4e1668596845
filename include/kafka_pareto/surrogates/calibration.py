"""Calibrate estimates: predict the confirmation's measurements, with a 90 % interval.

The front's points were selected for good estimates, so noise that flattered the trees is on it. A Gaussian process
without a part in the selection estimates them again: it shares the trials, not the trees' errors, and shrinks what has
little evidence. Its intervals are too narrow if its lengths were found on few trials, so they are stretched by its own
errors at unseen configurations (split into folds, as in Barber et al., "Predictive inference with the jackknife+",
Annals of Statistics 49(1), 2021; errors in units of the predicted spread, as in Lei et al., "Distribution-free
predictive inference for regression", JASA 113, 2018).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from sklearn.model_selection import GroupKFold

from kafka_pareto.analysis.hypervolume import logarithms
from kafka_pareto.analysis.rounding import Values
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune
from kafka_pareto.surrogates.gaussian_process import MOST_TRIALS, Posterior, at_most, fit_posterior, inputs

COVERAGE = 0.9
"""Nominal coverage of the intervals."""
FOLDS = 5
_LEAST_ERRORS = 10  # fewer trials cannot estimate the outer 5 %


class Process(Frozen):
    """A fitted Gaussian process of an objective's scaled logarithm, as numbers."""

    centre: float
    scale: float
    amplitude: float
    lengths: list[float]
    alpha: list[float]
    inputs: list[list[float]]
    targets: list[float]
    repetition_variance: float

    @classmethod
    def of(cls, posterior: Posterior, rows: pd.DataFrame) -> Process:
        """Return the numbers of a process fitted on exactly these trials."""
        fitted = posterior.process
        alpha, repetitions = np.asarray(fitted.alpha, dtype=float), rows.repetitions_valid.to_numpy(dtype=float)
        return cls(
            centre=posterior.centre,
            scale=posterior.scale,
            amplitude=float(fitted.kernel_.k1.constant_value),
            lengths=np.atleast_1d(fitted.kernel_.k2.length_scale).tolist(),
            alpha=alpha.tolist(),
            inputs=fitted.X_train_.tolist(),
            targets=fitted.y_train_.tolist(),
            repetition_variance=float(np.mean(alpha * repetitions)) * posterior.scale**2,
        )

    def predict(self, study: Tune, configurations: pd.DataFrame, repetitions: Values | int) -> tuple[Values, Values]:
        """Return mean and standard deviation of the logarithm of what so many repetitions will measure."""
        kernel = ConstantKernel(self.amplitude) * Matern(self.lengths, nu=2.5)
        process = GaussianProcessRegressor(kernel, alpha=np.array(self.alpha), optimizer=None)
        process.fit(np.array(self.inputs), np.array(self.targets))
        mean, deviation = process.predict(inputs(study, configurations), return_std=True)
        variance = (deviation * self.scale) ** 2 + self.repetition_variance / repetitions
        return mean * self.scale + self.centre, np.sqrt(variance)


class Calibration(Frozen):
    """Turns estimates of an objective into estimates with intervals; without a process the trees' estimates stay.

    `low` and `high` are the 5 % and 95 % quantiles of the errors at unseen configurations: measured minus estimated
    logarithm, in predicted standard deviations if there is a process.
    """

    low: float
    high: float
    process: Process | None = None

    def interval(
        self, study: Tune, configurations: pd.DataFrame, estimates: Values, repetitions: int
    ) -> tuple[Values, Values, Values]:
        """Return the estimate of the average of so many repetitions, and its interval's two ends.

        `estimates` are the trees'; those that are not positive have no interval.
        """
        if self.process is None:
            positive = np.where(estimates > 0, estimates, np.nan)
            return estimates, positive * np.exp(self.low), positive * np.exp(self.high)
        mean, deviation = self.process.predict(study, configurations, repetitions)
        return np.exp(mean), np.exp(mean + self.low * deviation), np.exp(mean + self.high * deviation)


class Calibrations(Record):
    """A campaign's calibrations (`calibration.json`), by objective."""

    objectives: dict[ObjectiveName, Calibration]


def calibrate(
    study: Tune,
    rows: pd.DataFrame,
    objective: ObjectiveName,
    cross_validated: pd.Series,
    most_trials: int = MOST_TRIALS,
) -> tuple[Calibration, pd.Series] | None:
    """Calibrate a mean's estimates on the trials that measured it; None with too few trials to estimate the errors.

    `cross_validated` are estimates by trees that had not seen the row's configuration. The series says for each trial
    whether an interval that had not seen it covers it (1, 0 or NaN).
    """
    of_trees = study.surrogate.estimates == "trees"
    if of_trees:
        estimates = cross_validated.to_numpy(dtype=float)
        errors = logarithms(rows, study, objective) - np.log(np.where(estimates > 0, estimates, np.nan))
    else:
        errors = _errors(study, rows, objective, most_trials)
    fitted = at_most(study, rows, most_trials)
    posterior = None if of_trees else fit_posterior(study, fitted, objective)
    known = np.isfinite(errors)
    if known.sum() < _LEAST_ERRORS or not (of_trees or posterior):
        return None
    covered = np.full(len(rows), np.nan)
    for inside, outside in folds_of(study, rows):
        if known[inside].any():
            low, high = _ends(errors[inside][known[inside]])
            held = (errors[outside] >= low) & (errors[outside] <= high)
            covered[outside] = np.where(known[outside], held, np.nan)
    low, high = _ends(errors[known])
    process = Process.of(posterior, fitted) if posterior else None
    return Calibration(low=low, high=high, process=process), pd.Series(covered, index=rows.index)


def with_intervals(study: Tune, front: pd.DataFrame, calibrations: Mapping[ObjectiveName, Calibration]) -> pd.DataFrame:
    """Return the front with calibrated estimates of the means, and `estimated_<mean>_low` and `_high`.

    Intervals are for a mean over the confirmation's choice blocks; NaN without calibration or estimate.
    `limits_met_estimated` requires that both the search's estimates and those shown meet the limits.
    """
    table = front.copy()
    for mean in study.means:
        name = f"estimated_{mean}"
        estimates = table[name].to_numpy(dtype=float)
        low = high = np.full(len(table), np.nan)
        if mean in calibrations and len(table) and np.isfinite(estimates).all():
            blocks = study.confirmation.choice_blocks
            table[name], low, high = calibrations[mean].interval(study, table, estimates, blocks)
        table[f"{name}_low"], table[f"{name}_high"] = low, high
    for limit in study.limits:
        if limit.objective in calibrations:
            estimates = table[f"estimated_{limit.objective}"].to_numpy(dtype=float)
            if np.isnan(estimates).any():  # not learnable, so the search ignored this limit too
                continue
            table["limits_met_estimated"] &= limit.excess_fraction(estimates) <= 0
    return table


def _errors(study: Tune, rows: pd.DataFrame, objective: ObjectiveName, most_trials: int) -> Values:
    """Return each trial's error in standard deviations, by a process fitted without its configuration."""
    errors, logs = np.full(len(rows), np.nan), logarithms(rows, study, objective)
    repetitions = rows.repetitions_valid.to_numpy(dtype=float)
    for inside, outside in folds_of(study, rows):
        seen, unseen = at_most(study, rows.iloc[inside], most_trials), rows.iloc[outside]
        if posterior := fit_posterior(study, seen, objective):
            mean, deviation = Process.of(posterior, seen).predict(study, unseen, repetitions[outside])
            errors[outside] = (logs[outside] - mean) / deviation
    return errors


def folds_of(
    study: Tune, rows: pd.DataFrame, repeat: int = 0
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Return the indices inside and outside each fold of configurations; none with fewer configurations than folds."""
    if rows.configuration_id.nunique() < FOLDS:
        return []
    folds = GroupKFold(FOLDS, shuffle=True, random_state=study.seed + repeat)
    return list(folds.split(rows, groups=rows.configuration_id))


def _ends(errors: Values) -> tuple[float, float]:
    """Return quantiles with 5 % on each side for one more error; 0 lies between them."""
    rank = min(1.0, (1 + COVERAGE) / 2 * (1 + 1 / len(errors)))
    low, high = np.quantile(errors, [1 - rank, rank])
    return min(float(low), 0.0), max(float(high), 0.0)
