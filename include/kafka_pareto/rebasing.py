"""What an earlier campaign's values would be today, by the sentinel, and how far that is wrong. Pure.

The sentinel is the baseline, measured in both campaigns: what has changed about the cluster, the machine or the day
acts on all configurations alike as far as it acts on the baseline. The rest of the change shows in the configurations
that both campaigns have measured.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.goals import Objective
from kafka_pareto.hypervolume import smallest
from kafka_pareto.study import Study

Values = npt.NDArray[np.float64]

LEAST_SHARED = 3
"""Configurations measured in both campaigns; fewer say too little of what the sentinel has not told."""

_GROUP = ["prior_campaign", "record_size_bytes"]


def logarithms(study: Study, rows: pd.DataFrame, objective: Objective) -> Values:
    """The objective's logarithm in each row; 0 stands for half of what can be told apart."""
    values: Values = np.log(np.maximum(rows[objective].to_numpy(dtype=float), smallest(objective, rows, study)))
    return values


def rebased(study: Study, prior: pd.DataFrame, trials: pd.DataFrame, objective: Objective) -> pd.DataFrame:
    """Moves the logarithms of earlier trials by what the baseline's has moved since, at each record size.

    Args:
        study: The campaign's study.
        prior: `PRIOR_TRIAL_COLUMNS` and factors.
        trials: `TRIAL_COLUMNS` and factors, today's that measured the objective.
        objective: Which one.

    Returns:
        The earlier trials whose baseline measured the objective in both campaigns, with `log_value` as of today,
        `log_shift` of the baseline, and of what was measured in both, the baseline aside, `log_error` (today's
        logarithm minus the rebased one) and `repetitions_today`; these two are NaN elsewhere.
    """
    today = trials.assign(log_today=logarithms(study, trials, objective), repetitions_today=trials.repetitions_valid)
    moved = []
    for (_, size), group in prior[prior[objective].notna()].groupby(_GROUP, sort=False):
        now = today[today.record_size_bytes == size]
        then = group.assign(log_value=logarithms(study, group, objective))
        if not (now.is_baseline.any() and then.is_baseline.any()):
            continue
        shift = now.log_today[now.is_baseline].iloc[0] - then.log_value[then.is_baseline].iloc[0]
        then = then.assign(log_value=then.log_value + shift, log_shift=shift)
        both = now.loc[~now.is_baseline, ["configuration_id", "log_today", "repetitions_today"]]
        then = then.merge(both, on="configuration_id", how="left")
        moved.append(then.assign(log_error=then.log_today - then.log_value))
    return pd.concat(moved, ignore_index=True) if moved else prior.iloc[:0]


def error_variances(earlier: pd.DataFrame, repetition_variance: float) -> Values:
    """How far each rebased value may be wrong, as a variance, beside the noise of its own repetitions.

    It is the mean square of what was left of the disagreement at the campaign's record size, less what the noise of
    the repetitions on both sides explains. With fewer than `LEAST_SHARED` configurations measured in both, it is the
    square of the baseline's own shift: what has moved that far may have moved others by as much more.

    Args:
        earlier: As `rebased` returns it.
        repetition_variance: The variance of a single repetition's logarithm.
    """
    both = 1.0 / earlier.repetitions_valid + 1.0 / earlier.repetitions_today
    unexplained = (earlier.log_error**2 - repetition_variance * both).groupby([earlier[name] for name in _GROUP])
    seen = np.maximum(unexplained.transform("mean"), 0.0)
    enough = unexplained.transform("count") >= LEAST_SHARED
    variances: Values = np.where(enough, seen, earlier.log_shift**2)
    return variances
