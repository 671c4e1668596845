"""Convert an earlier campaign's values to today's conditions with the sentinel, and estimate the error.

The sentinel is the baseline, measured in both campaigns. Changes of cluster, machine or day are assumed to act on all
configurations as on the baseline; the rest shows in the other configurations that both campaigns have measured.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.analysis.hypervolume import logarithms
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.tune import Tune

Values = npt.NDArray[np.float64]

LEAST_SHARED = 3
"""Configurations measured in both campaigns; fewer say too little of what the sentinel does not show."""

UNCOMPARED_SPREADS = 2.0
"""Error of a value not compared with today's, in variances of its campaign's values: that of unrelated values."""

_GROUP = ["prior_campaign", "case"]
_ADDED = ["log_value", "log_shift", "shift_noise", "log_error", "repetitions_today"]


def rebased(study: Tune, prior: pd.DataFrame, trials: pd.DataFrame, objective: ObjectiveName) -> pd.DataFrame:
    """Shift the logarithms of earlier trials by the change of the baseline's since then, in each case.

    The earlier baselines are left out: rebased by their own shift they would repeat today's. Trials whose baseline
    measured the objective in both campaigns get `log_value` as of today, `log_shift` of the baseline, and
    `shift_noise`, its variance in variances of a single repetition; if measured in both, also `log_error` (today's
    logarithm minus the rebased one) and `repetitions_today`, else NaN.
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
    """Return the variance of each rebased value's error, beyond the noise of its own repetitions.

    With at least `LEAST_SHARED` configurations measured in both campaigns: the mean square of the disagreement left in
    the case, less what the repetitions' noise explains. With fewer, the sum of the squared shift of the baseline
    (others may have moved by as much more), that shift's noise, and `UNCOMPARED_SPREADS` times the variance among the
    campaign's values (an unmoved baseline says nothing about the others). The process treats these errors as
    independent, though a campaign's values share one shift: it trusts their common level too much; their order is not
    affected.
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
