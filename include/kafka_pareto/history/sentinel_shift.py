"""What an earlier campaign's values would be today, by the sentinel, and how far that is wrong. Pure.

The sentinel is the baseline, measured in both campaigns: what has changed about the cluster, the machine or the day
acts on all configurations alike as far as it acts on the baseline. The rest of the change shows in the configurations
that both campaigns have measured.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.analysis.hypervolume import logarithms
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study

Values = npt.NDArray[np.float64]

LEAST_SHARED = 3
"""Configurations measured in both campaigns; fewer say too little of what the sentinel has not told."""

UNCOMPARED_SPREADS = 2.0
"""Variances of an earlier campaign's values that each may be wrong by until they are compared with today's.

Two values of equal spread that have nothing to do with each other differ by that much.
"""

_GROUP = ["prior_campaign", "case"]
_ADDED = ["log_value", "log_shift", "shift_noise", "log_error", "repetitions_today"]


def rebased(study: Study, prior: pd.DataFrame, trials: pd.DataFrame, objective: ObjectiveName) -> pd.DataFrame:
    """Moves the logarithms of earlier trials by what the baseline's has moved since, at each record size.

    The earlier baselines are left out: moved by their own shift they say what today's have said.

    Args:
        study: The campaign's study.
        prior: `PRIOR_TRIAL_COLUMNS` and factors.
        trials: `TRIAL_COLUMNS` and factors, today's that measured the objective.
        objective: Which one.

    Returns:
        The earlier trials whose baseline measured the objective in both campaigns, with `log_value` as of today,
        `log_shift` of the baseline, and `shift_noise`, the shift's variance in variances of a single repetition. Of
        what was measured in both, `log_error` (today's logarithm minus the rebased one) and `repetitions_today`; these
        two are NaN elsewhere.
    """
    today = trials.assign(log_today=logarithms(trials, study, objective), repetitions_today=trials.repetitions_valid)
    columns = [*prior.columns, *_ADDED]
    moved = []
    for (_, case), group in prior[prior[objective].notna()].groupby(_GROUP, sort=False):
        now = today[today.case == case]
        then = group.assign(log_value=logarithms(group, study, objective))
        if not (now.is_baseline.any() and then.is_baseline.any()):
            continue
        sentinel_now, sentinel_then = now[now.is_baseline].iloc[0], then[then.is_baseline].iloc[0]
        shift = sentinel_now.log_today - sentinel_then.log_value
        noise = 1.0 / sentinel_now.repetitions_valid + 1.0 / sentinel_then.repetitions_valid
        then = then[~then.is_baseline].assign(log_shift=shift, shift_noise=noise)
        measured_again = now[["configuration_id", "log_today", "repetitions_today"]]
        then = then.merge(measured_again, on="configuration_id", how="left")
        then = then.assign(log_value=then.log_value + shift)
        moved.append(then.assign(log_error=then.log_today - then.log_value)[columns])
    return pd.concat(moved, ignore_index=True) if moved else pd.DataFrame(columns=columns)


def error_variances(earlier: pd.DataFrame, repetition_variance: float) -> Values:
    """How far each rebased value may be wrong, as a variance, beside the noise of its own repetitions.

    It is the mean square of what was left of the disagreement at the campaign's record size, less what the noise of
    the repetitions on both sides explains. With fewer than `LEAST_SHARED` configurations measured in both, it is the
    square of the baseline's own shift, since what has moved that far may have moved others by as much more; the noise
    of that shift; and `UNCOMPARED_SPREADS` times the variance among the campaign's values, since a baseline that stayed
    where it was says nothing of the others.

    The shift is one number for all values of a campaign and record size, so they share its error, and the process that
    learns from them takes it for independent: their common level is trusted more than it should be, their order is not.

    Args:
        earlier: As `rebased` returns it.
        repetition_variance: The variance of a single repetition's logarithm.
    """
    campaigns = [earlier[name] for name in _GROUP]
    both = 1.0 / earlier.repetitions_valid + 1.0 / earlier.repetitions_today
    unexplained = (earlier.log_error**2 - repetition_variance * both).groupby(campaigns)
    seen = np.maximum(unexplained.transform("mean"), 0.0)
    enough = unexplained.transform("count") >= LEAST_SHARED
    spread = earlier.log_value.groupby(campaigns).transform("var", ddof=0)
    unseen = earlier.log_shift**2 + repetition_variance * earlier.shift_noise + UNCOMPARED_SPREADS * spread
    variances: Values = np.where(enough, seen, unseen)
    return variances
