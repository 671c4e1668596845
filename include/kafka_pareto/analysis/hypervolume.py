"""How good a set of measured configurations is: the hypervolume of their gains over the baseline. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import moocore
import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.analysis.repetition_values import smallest_latency_ms
from kafka_pareto.analysis.trials import keeps_limits, may_be_recommended
from kafka_pareto.study.driver import is_maximised
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study

Losses = npt.NDArray[np.float64]
Values = npt.NDArray[np.float64]

REFERENCE = float(np.log(2.0))
"""A loss of twice the baseline's latency, or half of its throughput: what is worse than that counts for nothing."""


def measured_hypervolume(trials: pd.DataFrame, study: Study) -> float:
    """The hypervolume of one record size's trials that may be recommended, in p95 latency and throughput.

    Losses are logarithms relative to the baseline's trial, so that a halved latency counts the same on any cluster. The
    reference point is `REFERENCE` in both; the baseline alone comes to its square. The CVs stay out: over a design's
    few repetitions they are mostly noise.

    Args:
        trials: `TRIAL_COLUMNS` of one record size, the baseline's among them.
        study: The campaign's study.

    Returns:
        The volume; 0 when nothing keeps the limits, the baseline included, or the baseline has no valid repetition.
    """
    measured = trials[trials.repetitions_valid > 0]
    losses = relative_losses(measured, study, study.means)
    if losses is None:
        return 0.0
    return volume(losses[may_be_recommended(measured, study) & keeps_limits(measured, study)])


def relative_losses(trials: pd.DataFrame, study: Study, objectives: Sequence[ObjectiveName]) -> Losses | None:
    """Log-losses relative to the baseline's trial, shape (trials, objectives); smaller is better.

    Returns:
        None when the baseline is not among the trials or has no value for an objective.
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


def logarithms(trials: pd.DataFrame, study: Study, objective: ObjectiveName) -> Values:
    """The objective's logarithm in each trial; 0 stands for half of the resolution, or of the smallest measured."""
    values = trials[objective].to_numpy(dtype=float)
    positive = values[values > 0]
    smallest = float(positive.min() / 2) if len(positive) else 1.0
    if objective == "p95_latency_ms":
        smallest = smallest_latency_ms(study.protocol)
    logs: Values = np.log(np.maximum(values, smallest))
    return logs


def volume(losses: Losses) -> float:
    """The hypervolume of losses, shape (points, objectives), up to `REFERENCE` (Fonseca, Paquete, Lopez 2006)."""
    inside = losses[(losses < REFERENCE).all(axis=1)]
    if not len(inside):
        return 0.0
    return float(moocore.hypervolume(inside, ref=np.full(inside.shape[1], REFERENCE)))
