"""One objective of a candidate against the baseline, measured in the same blocks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from kafka_pareto import statistics
from kafka_pareto.artifacts import Repetition
from kafka_pareto.study import MAXIMISED, Objective
from kafka_pareto.trials import coefficient_of_variation

SIGNIFICANCE = 0.05
NEGLIGIBLE_CHANGE_FRACTION = 0.10

Resolution = Literal["better", "worse", "no difference shown", "not resolved"]

LABELS: dict[Objective, str] = {
    "p95_latency_ms": "p95 latency",
    "throughput_mib_s": "throughput",
    "latency_cv": "CV of p95 latency",
    "throughput_cv": "CV of throughput",
}


class Gain(BaseModel):
    """One objective of the candidate against the baseline, from the gain blocks alone.

    Attributes:
        baseline_value: The baseline's objective over the blocks used: a mean, or a CV. None where there is none.
        candidate_value: The same of the candidate.
        change_fraction: Candidate over baseline, minus one; `change_low_fraction` to `change_high_fraction` is its
            95 % interval, not widened for the number of comparisons.
        p_value: Two-sided, of no change.
        p_value_holm: Adjusted over all objectives, and over all record sizes once the report has seen them.
        welch_p_value: Welch's test beside it, for means only.
        resolution: `better` or `worse` at 5 % after Holm; else `no difference shown` when the interval holds no
            change and lies within 10 % to either side; else `not resolved`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: Objective
    baseline_value: float | None
    candidate_value: float | None
    change_fraction: float | None
    change_low_fraction: float | None
    change_high_fraction: float | None
    p_value: float | None
    p_value_holm: float | None
    welch_p_value: float | None
    method: str
    resolution: Resolution
    baseline_repetition_ids: list[str]
    candidate_repetition_ids: list[str]


def compare(
    objective: Objective, baseline: Sequence[Repetition], candidate: Sequence[Repetition], rng: np.random.Generator
) -> Gain:
    """Compares valid repetitions of the same blocks, in the same order; not yet adjusted, and so not yet resolved."""
    of_latency = objective in ("p95_latency_ms", "latency_cv")
    measured = [
        np.array([r.latency_p95_ms if of_latency else r.throughput_mib_s for r in side], dtype=np.float64)
        for side in (baseline, candidate)
    ]
    if objective.endswith("_cv"):
        change = statistics.cv_change(measured[0], measured[1], rng)
        values = [coefficient_of_variation(side) for side in measured]
        method = "bootstrap of the log-ratio of CVs over blocks, expanded percentile interval"
    else:
        change = statistics.mean_change(measured[0], measured[1])
        values = [float(np.mean(side)) if len(side) else float("nan") for side in measured]
        method = "ratio of means, Student's t on differences within blocks; Welch's test beside it"
    return Gain(
        objective=objective,
        baseline_value=_known(values[0]),
        candidate_value=_known(values[1]),
        change_fraction=_known(change.change_fraction),
        change_low_fraction=_known(change.low_fraction),
        change_high_fraction=_known(change.high_fraction),
        p_value=_known(change.p_value),
        p_value_holm=None,
        welch_p_value=_known(change.welch_p_value),
        method=method,
        resolution="not resolved",
        baseline_repetition_ids=[r.repetition_id for r in baseline],
        candidate_repetition_ids=[r.repetition_id for r in candidate],
    )


def resolve(gain: Gain, p_value_holm: float) -> Gain:
    """The gain with its adjusted p-value (NaN: it may claim nothing), and what that shows."""
    resolution: Resolution = "not resolved"
    low, high = gain.change_low_fraction, gain.change_high_fraction
    if p_value_holm < SIGNIFICANCE and gain.change_fraction:
        wanted = gain.change_fraction > 0 if gain.objective in MAXIMISED else gain.change_fraction < 0
        resolution = "better" if wanted else "worse"
    elif np.isfinite(p_value_holm) and low is not None and high is not None:
        within = -NEGLIGIBLE_CHANGE_FRACTION <= low <= 0 <= high <= NEGLIGIBLE_CHANGE_FRACTION
        resolution = "no difference shown" if within else "not resolved"
    return gain.model_copy(update={"p_value_holm": _known(p_value_holm), "resolution": resolution})


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
