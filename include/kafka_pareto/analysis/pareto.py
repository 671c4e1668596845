"""Computes Pareto dominance over a study's objectives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from moocore import is_nondominated

from kafka_pareto.study.declarations import all_objectives

Losses = npt.NDArray[np.float64]


def non_dominated(losses: Losses) -> npt.NDArray[np.bool_]:
    """Marks the rows that no other row dominates. Smaller is better.

    A row dominates another if it is nowhere worse and somewhere better. A row with a NaN can be compared with none: it
    neither dominates nor is dominated. Equal rows do not dominate each other.

    Args:
        losses: Shape (points, objectives); infinities are ordinary values.

    Returns:
        A mask, shape (points,).
    """
    mask = np.ones(len(losses), dtype=bool)
    comparable = ~np.isnan(losses).any(axis=1)
    if losses.shape[1] and comparable.any():
        # moocore 0.3.2 fails on an infinity or a NaN among three objectives, up to a segmentation fault.
        mask[comparable] = is_nondominated(np.nan_to_num(losses[comparable]), keep_weakly=True)
    return mask


def losses_of(frame: pd.DataFrame, prefix: str = "") -> Losses:
    """Returns the objectives as losses, shape (rows, objectives): maximised objectives have their sign turned.

    An objective that no row knows is left out; a value missing from a single row counts as the worst there is.
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
