"""Test the cluster's stability during the measurements with the sentinel: the baseline's repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kafka_pareto.analysis import paired_tests
from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.analysis.repetition_values import per_repetition_value, smallest_value
from kafka_pareto.analysis.rounding import Values, dense_ranks, has_spread
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.study import Study

MINIMUM_REPETITIONS = 12
_PERMUTATIONS = 9_999
# Memory grows with the batch, not with all permutations. It divides their number: a partial last batch would draw more
# random numbers, and change the next objective's p-value.
_BATCH = 99


class SeriesStability(Frozen):
    """Tests of one objective of the sentinel in time order; p-values are Holm's over all tests of the report.

    Changes are means over means, minus one: the first repetition over the others, and after over before the likeliest
    change point. `drift_tau` is Kendall's with time, from -1 (falls throughout) to 1 (rises).
    """

    objective: ObjectiveName
    first_run_change_fraction: float
    first_run_p_value_holm: float
    drift_tau: float
    drift_p_value_holm: float
    change_after: int
    change_repetition_id: str
    change_fraction: float
    change_p_value_holm: float

    @property
    def moved(self) -> bool:
        """Return whether the series drifted or changed; a slow first repetition alone does not count."""
        return min(self.drift_p_value_holm, self.change_p_value_holm) < SIGNIFICANCE


class SentinelReport(Frozen):
    """The sentinel's tests in one case, in time order; `series` is empty with too few repetitions."""

    repetition_ids: list[str]
    series: list[SeriesStability]

    @property
    def moved(self) -> bool:
        """Return whether any of the series drifted or changed."""
        return any(one.moved for one in self.series)


def sentinel_report(repetitions: Sequence[Repetition], study: Study, rng: np.random.Generator) -> SentinelReport:
    """Test the baseline's means in one case for a first-run effect, drift and a change point.

    The tests assume exchangeable values and are adjusted together by Holm. Error rates on 300 to 500 exchangeable pairs
    of series each, normal and resampled from recorded repetitions: 0 to 5 % moved, 1 to 4 % with a first-run effect.
    Power for a step of 1.5 standard deviations halfway: 20 % in series of 12, 48 % of 20, 78 % of 30, 95 % of 40 (after
    a third of the series: 6, 29, 50 and 85 %); for a steady drift over three standard deviations: 40, 80, 98 and 100 %.
    So no finding does not prove stability. Below twelve repetitions, where even a clean step would be missed, nothing
    is tested.
    """
    own = sorted((r for r in repetitions if r.is_baseline and r.outcome == "valid"), key=lambda r: r.started_at)
    of_all = [[per_repetition_value(r, mean, study.protocol.variability) for mean in study.means] for r in own]
    values = {r.repetition_id: each for r, each in zip(own, of_all, strict=True) if None not in each}
    ids = list(values)
    if len(ids) < MINIMUM_REPETITIONS:
        return SentinelReport(repetition_ids=ids, series=[])
    series_of = np.array(list(values.values()), dtype=np.float64).T
    found = [
        _tested(mean, np.maximum(one, smallest_value(mean, study.protocol)), ids, rng)
        for mean, one in zip(study.means, series_of, strict=True)
    ]
    tests = [name for name in SeriesStability.model_fields if name.endswith("_p_value_holm")]
    adjusted = iter(paired_tests.holm([getattr(series, name) for series in found for name in tests]))
    return SentinelReport(
        repetition_ids=ids, series=[one.model_copy(update={name: next(adjusted) for name in tests}) for one in found]
    )


def first_run_p_value(values: Values) -> float:
    """Return the p-value of no first-run effect: Student's t on the logs, 1 without spread.

    If only the first value differs, its place is the evidence: it has each place with the same probability.
    """
    if not has_spread(values[1:]):
        return 1 / len(values) if has_spread(values) else 1.0
    from scipy import stats  # noqa: PLC0415  (takes a second to import, and most steps do not need it)

    logs = np.log(values)
    return float(stats.ttest_ind(logs[:1], logs[1:]).pvalue)


def change_point(values: Values, rng: np.random.Generator) -> tuple[int, float]:
    """Return how many values precede the likeliest single step, and the p-value of no step.

    Pettitt's statistic (Applied Statistics 28, 1979) is the largest cumulative sum of the ranks around their mean; its
    p-value is by permutation, as his approximation is rough for short series.
    """
    from scipy import stats  # noqa: PLC0415  (as above)

    ranks = stats.rankdata(dense_ranks(values))
    test = stats.permutation_test(
        (ranks,),
        _largest_cusum,
        permutation_type="pairings",
        n_resamples=_PERMUTATIONS,
        batch=_BATCH,
        alternative="greater",
        rng=rng,
    )
    return int(np.argmax(np.abs(_cusum(ranks)))) + 1, float(test.pvalue)


def _cusum(ranks: Any, axis: int = -1) -> Any:
    off = ranks - np.mean(ranks, axis=axis, keepdims=True)
    return np.delete(np.cumsum(off, axis=axis), -1, axis=axis)


def _largest_cusum(ranks: Any, axis: int = -1) -> Any:
    return np.max(np.abs(_cusum(ranks, axis)), axis=axis)


def _tested(objective: ObjectiveName, values: Values, ids: Sequence[str], rng: np.random.Generator) -> SeriesStability:
    """Run the three tests; their p-values are not yet adjusted."""
    from scipy import stats  # noqa: PLC0415  (as above)

    drift = stats.kendalltau(np.arange(len(values)), dense_ranks(values))
    before, p_value = change_point(values, rng)
    # A constant series has no tau.
    return SeriesStability(
        objective=objective,
        first_run_change_fraction=float(values[0] / np.mean(values[1:]) - 1),
        first_run_p_value_holm=first_run_p_value(values),
        drift_tau=float(np.nan_to_num(drift.statistic)),
        drift_p_value_holm=float(np.nan_to_num(drift.pvalue, nan=1.0)),
        change_after=before,
        change_repetition_id=ids[before],
        change_fraction=float(np.mean(values[before:]) / np.mean(values[:before]) - 1),
        change_p_value_holm=p_value,
    )
