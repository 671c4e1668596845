"""Measure the quality of a set of configurations by the hypervolume of their gains over the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import moocore
import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.analysis.repetition_values import smallest_value
from kafka_pareto.analysis.trials import keeps_limits, may_be_recommended
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

Losses = npt.NDArray[np.float64]
Values = npt.NDArray[np.float64]

REFERENCE = float(np.log(2.0))
"""Log of twice the baseline's latency, or of half its throughput: a larger loss counts for nothing."""


def measured_hypervolume(trials: pd.DataFrame, study: Tune) -> float:
    """Return the hypervolume, in the study's means, of one case's trials that may be recommended.

    Losses are logarithms relative to the baseline's trial: halved latency counts the same on any cluster. With
    `REFERENCE` as the reference point, the baseline alone has its square. CVs are excluded as mostly noise over few
    repetitions. The volume is 0 if nothing keeps the limits or the baseline has no valid repetition.
    """
    measured = trials[trials.repetitions_valid > 0]
    losses = relative_losses(measured, study, study.means)
    if losses is None:
        return 0.0
    return volume(losses[may_be_recommended(measured, study) & keeps_limits(measured, study)])


def relative_losses(trials: pd.DataFrame, study: Tune, objectives: Sequence[ObjectiveName]) -> Losses | None:
    """Return log-losses relative to the baseline's trial, shape (trials, objectives); smaller is better.

    None if the baseline is missing or has no value for an objective.
    """
    baseline = trials[trials.is_baseline]
    if baseline.empty or baseline[list(objectives)].iloc[0].isna().any():
        return None
    columns = []
    for objective in objectives:
        values = logarithms(trials, study, objective)
        change = values - values[trials.is_baseline.to_numpy(dtype=bool)][0]
        columns.append(-change if is_maximised(objective) else change)
    return np.column_stack(columns)


def logarithms(trials: pd.DataFrame, study: Tune, objective: ObjectiveName) -> Values:
    """Return the objective's logarithms; 0 counts as half of the resolution or of the smallest measured value."""
    values = trials[objective].to_numpy(dtype=float)
    positive = values[values > 0]
    smallest = smallest_value(objective, study.protocol) or (float(positive.min() / 2) if len(positive) else 1.0)
    logs: Values = np.log(np.maximum(values, smallest))
    return logs


def volume(losses: Losses) -> float:
    """Return the hypervolume of losses, shape (points, objectives), up to `REFERENCE` (Fonseca et al. 2006)."""
    inside = losses[(losses < REFERENCE).all(axis=1)]
    if not len(inside):
        return 0.0
    return float(moocore.hypervolume(inside, ref=np.full(inside.shape[1], REFERENCE)))
