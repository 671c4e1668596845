"""Pareto dominance over a study's objectives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.study.driver import all_objectives

Losses = npt.NDArray[np.float64]


def non_dominated(losses: Losses) -> npt.NDArray[np.bool_]:
    """Which rows no other row dominates: is nowhere worse than and somewhere better than (smaller is better).

    Args:
        losses: Shape (points, objectives).

    Returns:
        A mask, shape (points,).
    """
    no_worse = np.all(losses[:, None, :] <= losses[None, :, :], axis=2)
    better = np.any(losses[:, None, :] < losses[None, :, :], axis=2)
    mask: npt.NDArray[np.bool_] = ~np.any(no_worse & better, axis=0)
    return mask


def losses_of(frame: pd.DataFrame, prefix: str = "") -> Losses:
    """The objectives as losses, shape (rows, objectives): what is maximised with its sign turned.

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
