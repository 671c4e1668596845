"""Compute 95 % intervals of trial means by Student's t over a trial's repetitions."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pandas as pd

from kafka_pareto.analysis.paired_tests import CONFIDENCE
from kafka_pareto.analysis.repetition_values import is_mean, per_repetition_value
from kafka_pareto.analysis.student import student_critical
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.explorer.snapshot import Snapshot, repetitions_named
from kafka_pareto.study.objectives import ObjectiveName

Intervals = dict[ObjectiveName, tuple[float, float]]


def intervals(snapshot: Snapshot) -> dict[str, dict[str, Intervals]]:
    """Return 95 % intervals of the means by phase (`design` or `confirmed`), configuration and objective.

    Only for configurations with two or more valid repetitions. A CV has no interval: a trial has only one.
    """
    return {"design": _intervals(snapshot, snapshot.trials), "confirmed": _intervals(snapshot, snapshot.confirmed)}


def _intervals(snapshot: Snapshot, trials: pd.DataFrame) -> dict[str, Intervals]:
    both = zip(trials.configuration_id, trials.repetition_ids, strict=True)
    ids_of: dict[str, list[str]] = {name: list(ids) for name, ids in both if len(ids) >= 2}
    found = repetitions_named(snapshot, chain.from_iterable(ids_of.values()))
    by_id = {repetition.repetition_id: repetition for repetition in found}
    return {
        name: _of_means([by_id[identity] for identity in ids if identity in by_id], snapshot)
        for name, ids in ids_of.items()
    }


def _of_means(repetitions: list[Repetition], snapshot: Snapshot) -> Intervals:
    variability = snapshot.study.protocol.variability
    found: Intervals = {}
    for objective in snapshot.study.objective_names:
        if not is_mean(objective, variability):
            continue
        measured = [per_repetition_value(repetition, objective, variability) for repetition in repetitions]
        values = np.array([value for value in measured if value is not None])
        if len(values) >= 2:
            half = student_critical((1 - CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
            found[objective] = (max(float(values.mean() - half), 0.0), float(values.mean() + half))
    return found
