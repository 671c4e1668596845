"""Select the points of a front to confirm on the real cluster; deterministic."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from kafka_pareto.analysis.pareto import Losses, losses_of, non_dominated
from kafka_pareto.analysis.trials import keeps_limits, may_be_recommended, steadiness
from kafka_pareto.campaign.tables import CANDIDATE_COLUMNS, table_schema
from kafka_pareto.study.declarations import is_maximised
from kafka_pareto.study.tune import Tune


def select_candidates(
    front: pd.DataFrame, trials: pd.DataFrame, study: Tune, points: int, advised: Collection[str] = ()
) -> pd.DataFrame:
    """Pick up to `points` configurations of one case, spread along its accepted front.

    First the roles: the best of every estimated objective, the knee (nearest to the ideal point in objectives scaled to
    [0, 1] over the front), and the paper's R1; then, one by one, the point farthest from all picked ones in the same
    space. Too small a front is filled up with measured trials that may be recommended, non-dominated ones first, with
    NaN estimates. With `strategy: rounds` such trials take half of the points from the start, as the rounds measured
    the most promising ones. Non-dominated advised configurations come first in that half, whatever the strategy, so
    that a pick is never worse than a published one.

    Only feasible rows of the joint front are used. Return `CANDIDATE_COLUMNS` and factors in the order picked, distinct
    and without the baseline; `chosen_as` lists every role.
    """
    may_be_chosen = front.on_joint_front & front.feasible & (front.configuration_id != study.baseline_id())
    from_others = _advised(trials, study, advised, points // 2)
    of_rounds = points // 2 - len(from_others) if study.strategy == "rounds" else 0
    best = _measured(trials, study, set(from_others.configuration_id), of_rounds)
    best = pd.concat([each for each in (from_others, best) if len(each)]) if len(from_others) else best
    of_front = front[may_be_chosen & ~front.configuration_id.isin(best.configuration_id)]
    accepted = of_front.drop_duplicates("configuration_id").sort_values("configuration_id")
    roles = _roles(accepted, study, points - len(best))
    picked = accepted.loc[list(roles)].assign(chosen_as=pd.Series(roles))
    taken = {*best.configuration_id, *picked.configuration_id}
    filled = _measured(trials, study, taken, points - len(taken))
    columns = table_schema(CANDIDATE_COLUMNS, study).names
    frames = [frame[columns] for frame in (best, picked, filled) if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _roles(front: pd.DataFrame, study: Tune, points: int) -> dict[int, list[str]]:
    """Map row label to roles, in the order picked; at most `points` rows."""
    losses = losses_of(front, "estimated_")
    if not len(front) or not losses.shape[1]:
        return {}
    scaled = _scaled(losses)
    best = [
        (f"best_{objective}", _best_row(front[f"estimated_{objective}"], is_maximised(objective)))
        for objective in study.objective_names
    ]
    knee = ("knee", int(np.argmin(np.linalg.norm(scaled, axis=1))))
    # With fewer points than roles, the most stable points matter least for a recommendation.
    wanted = [*best[:2], knee, ("r1", _best_row(steadiness(front, study, "estimated_"), maximised=True)), *best[2:]]
    rows: dict[int, list[str]] = {}
    for role, row in wanted:
        if row >= 0 and (row in rows or len(rows) < points):
            rows.setdefault(row, []).append(role)
    while rows and len(rows) < min(points, len(front)):
        to_picked = np.linalg.norm(scaled[:, None, :] - scaled[None, list(rows), :], axis=2).min(axis=1)
        to_picked[list(rows)] = -1.0
        rows[int(np.argmax(to_picked))] = ["spread"]
    return {front.index[row]: chosen_as for row, chosen_as in rows.items()}


def _best_row(estimates: pd.Series, maximised: bool) -> int:
    values = estimates.to_numpy(dtype=np.float64)
    if not np.isfinite(values).any():
        return -1
    return int(np.nanargmax(values) if maximised else np.nanargmin(values))


def _scaled(losses: Losses) -> Losses:
    low, high = losses.min(axis=0), losses.max(axis=0)
    scaled: Losses = (losses - low) / np.where(high > low, high - low, 1.0)
    return scaled


def _advised(trials: pd.DataFrame, study: Tune, advised: Collection[str], points: int) -> pd.DataFrame:
    """Return the advised trials measured on the front, or else the one nearest to the ideal point."""
    measured = _measured(trials, study, set(), len(trials))
    found = measured[measured.configuration_id.isin(advised)]
    if not len(found) or points < 1:
        return found.iloc[:0]
    on_front = int(found.chosen_as.map(lambda roles: roles == ["measured_non_dominated"]).sum())
    found = found.head(min(max(on_front, 1), points))
    return found.assign(chosen_as=pd.Series([["advised"]] * len(found), index=found.index))


def _measured(trials: pd.DataFrame, study: Tune, taken: set[str], points: int) -> pd.DataFrame:
    usable = trials[
        may_be_recommended(trials, study)
        & keeps_limits(trials, study)
        & ~trials.is_baseline
        & ~trials.configuration_id.isin(taken)
        & (trials.repetitions_valid > 0)
    ].sort_values("configuration_id")
    losses = losses_of(usable)
    if points <= 0 or not len(usable) or not losses.shape[1]:
        return usable.iloc[:0]
    on_front = non_dominated(losses)
    order = np.lexsort((np.linalg.norm(_scaled(losses), axis=1), ~on_front))[:points]
    estimates = dict.fromkeys((f"estimated_{objective}" for objective in study.objective_names), np.nan)
    of_no_front = {"on_joint_front": False, "limits_met_estimated": False, **estimates}
    filled = usable.iloc[order].assign(durability_accepted=True, **of_no_front)
    roles = [["measured_non_dominated" if on_front[row] else "measured"] for row in order]
    return filled.assign(chosen_as=pd.Series(roles, index=filled.index))
