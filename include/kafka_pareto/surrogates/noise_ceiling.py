"""Compute the noise ceiling: the most that any model of the means could explain of noisy trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from kafka_pareto.analysis.repetition_values import coefficient_of_variation, is_mean, per_repetition_value, spread_of
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

MINIMUM_ROWS_FOR_R2 = 3


def noise_ceiling(measured: pd.Series, error_variances: Sequence[float]) -> float | None:
    """Return the R², in [0, 1], of a model that knows the truth: 1 - mean error variance / measured variance.

    A model that learns from trials as noisy scores lower. None if fewer than three trials or half of them have a known
    error: trials with several repetitions, where most have one, are not representative.
    """
    errors, target = np.array(error_variances, dtype=float), measured.to_numpy(dtype=float)
    known = np.isfinite(errors) & np.isfinite(target)
    if known.sum() < max(MINIMUM_ROWS_FOR_R2, len(known) / 2) or np.ptp(target[known]) == 0:
        return None
    return float(np.clip(1 - errors[known].mean() / target[known].var(ddof=1), 0, 1))


def trial_keys(trials: pd.DataFrame) -> list[str]:
    """Return one name per trial: its case and configuration."""
    pairs = zip(trials["case"], trials["configuration_id"], strict=True)
    return [f"{case}/{configuration}" for case, configuration in pairs]


def error_variances(
    trials: pd.DataFrame,
    repetitions: Iterable[Repetition],
    objective: ObjectiveName,
    study: Tune,
    *,
    of_logarithm: bool = False,
) -> dict[str, float]:
    """Return the variance of each trial's objective, or its logarithm, over new repetitions, by `trial_keys`.

    By the delete-one jackknife (Efron and Tibshirani 1993, ch. 11), for a mean the squared standard error. NaN for a
    mean of fewer than two repetitions, a CV across fewer than three, and the logarithm of zero.
    """
    by_id = {repetition.repetition_id: repetition for repetition in repetitions}
    variability = study.protocol.variability
    of_mean = is_mean(objective, variability)
    measured = objective if of_mean else spread_of(objective)
    variances = {}
    for key, ids in zip(trial_keys(trials), trials["repetition_ids"], strict=True):
        kept = [by_id[name] for name in ids if name in by_id]
        values = np.array([per_repetition_value(r, measured, variability) for r in kept], dtype=float)
        variances[key] = _jackknife_variance(values, is_cv=not of_mean, of_logarithm=of_logarithm)
    return variances


def _jackknife_variance(values: np.ndarray, *, is_cv: bool, of_logarithm: bool) -> float:
    count = len(values)
    if count < (3 if is_cv else 2) or not np.isfinite(values).all():
        return float("nan")
    statistic = coefficient_of_variation if is_cv else np.mean
    left_out = np.array([statistic(np.delete(values, place)) for place in range(count)])
    if of_logarithm:
        if not (left_out > 0).all():
            return float("nan")
        left_out = np.log(left_out)
    return float((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2))
