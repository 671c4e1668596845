"""Summarise repetitions into trials: one configuration in one case, with its objectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.analysis.repetition_values import coefficient_of_variation, is_mean, per_repetition_value, spread_of
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import TRIAL_COLUMNS, table_schema
from kafka_pareto.kafka.known_properties import Durability
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

Mask = npt.NDArray[np.bool_]


def summarise_trials(repetitions: Sequence[Repetition], study: Tune) -> pd.DataFrame:
    """Summarise repetitions into one row per case and configuration (`TRIAL_COLUMNS`, factors), in order of appearance.

    Means are over the valid repetitions. The protocol's `variability` defines the CVs: across repetitions, the standard
    deviation (n-1) over the mean of p95 latency or throughput, NaN below the study's minimum of valid repetitions;
    within runs, the mean of the repetitions' own CVs. Without a valid repetition, means are NaN too.
    """
    groups: dict[tuple[str, str], list[Repetition]] = {}
    for repetition in repetitions:
        groups.setdefault((repetition.case, repetition.configuration_id), []).append(repetition)
    columns = table_schema(TRIAL_COLUMNS, study).names
    return pd.DataFrame([_trial(group, study) for group in groups.values()], columns=columns)


def may_be_recommended(trials: pd.DataFrame, study: Tune) -> Mask:
    """Mark the trials that keep the study's rules and durability and lost no record; the baseline always."""
    weakest = study.weakest_durability()
    accepted = np.array([Durability[name] >= weakest for name in trials.durability], dtype=bool)
    kept = accepted & trials.feasible.to_numpy(dtype=bool) & (trials.repetitions_lost_records == 0).to_numpy(dtype=bool)
    allowed: Mask = kept | trials.is_baseline.to_numpy(dtype=bool)
    return allowed


def keeps_limits(trials: pd.DataFrame, study: Tune) -> Mask:
    """Mark the trials whose measured values keep every limit; an unknown value breaks none."""
    missed = np.zeros(len(trials), dtype=bool)
    for limit in study.limits:
        missed |= limit.excess_fraction(trials[limit.objective].to_numpy(dtype=float)) > 0
    return ~missed


def steadiness(frame: pd.DataFrame, study: Tune, prefix: str = "") -> pd.Series:
    """Return the paper's R1, throughput over its CV, from the columns `<prefix><objective>`.

    NaN if the driver has no such pair, or if the CV is missing, zero or below: zero means too few distinct values
    rather than perfect steadiness, and a surrogate may estimate less.
    """
    if study.declaration.steadiness is None:
        return pd.Series(np.nan, index=frame.index)
    mean, spread = (frame[f"{prefix}{name}"] for name in study.declaration.steadiness)
    ratio: pd.Series = (mean / spread).where(spread > 0)
    return ratio


def _trial(group: list[Repetition], study: Tune) -> dict[str, Any]:
    first = group[0]
    valid = [repetition for repetition in group if repetition.outcome == "valid"]
    return {
        "case": first.case,
        "configuration_id": first.configuration_id,
        "is_baseline": first.is_baseline,
        "feasible": study.keeps_rules(first.configuration, first.case),
        "durability": study.durability_of(first.configuration).name,
        "repetitions_valid": len(valid),
        "repetitions_lost_records": sum(r.outcome in ("records_lost", "records_duplicated") for r in group),
        "repetitions_failed": sum(r.outcome == "failed" for r in group),
        "attempts": sum(r.attempts for r in group),
        **{objective: _value(objective, valid, study) for objective in study.objective_names},
        "repetition_ids": [r.repetition_id for r in valid],
        **first.configuration,
    }


def _value(objective: ObjectiveName, valid: list[Repetition], study: Tune) -> float:
    protocol = study.protocol
    of_mean = is_mean(objective, protocol.variability)
    # A mean of one repetition is noisy, but still a value; a spread of one or two is not.
    if len(valid) < (1 if of_mean else protocol.minimum_valid_repetitions):
        return float("nan")
    measured = objective if of_mean else spread_of(objective)
    values = np.array([per_repetition_value(r, measured, protocol.variability) for r in valid], dtype=float)
    return float(np.mean(values)) if of_mean else coefficient_of_variation(values)
