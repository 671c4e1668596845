"""Compute Pareto dominance over a study's objectives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from moocore import is_nondominated

from kafka_pareto.study.declarations import all_objectives

Losses = npt.NDArray[np.float64]


def non_dominated(losses: Losses) -> npt.NDArray[np.bool_]:
    """Mark the rows, shape (points, objectives), that no other row dominates; smaller is better.

    A row dominates another if it is nowhere worse and somewhere better; equal rows do not. A row with a NaN is
    comparable with none and so is marked. Infinities are ordinary values.
    """
    mask = np.ones(len(losses), dtype=bool)
    comparable = ~np.isnan(losses).any(axis=1)
    if losses.shape[1] and comparable.any():
        # moocore 0.3.2 fails on an infinity or a NaN among three objectives, up to a segmentation fault.
        mask[comparable] = is_nondominated(np.nan_to_num(losses[comparable]), keep_weakly=True)
    return mask


def losses_of(frame: pd.DataFrame, prefix: str = "") -> Losses:
    """Return the objectives as losses, shape (rows, objectives): maximised objectives are negated.

    An objective without any value is left out; a single missing value counts as the worst.
    """
    columns = []
    for objective in all_objectives():
        if prefix + objective.name not in frame:
            continue
        values = frame[prefix + objective.name].to_numpy(dtype=np.float64)
        if np.isfinite(values).any():
            loss = -values if objective.maximised else values
            columns.append(np.where(np.isfinite(loss), loss, np.max(loss[np.isfinite(loss)])))
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))
