from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kafka_pareto.analysis.drift import Ratio, adjusted, change_between, change_points, pooled, ratio_between
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.study.objectives import ObjectiveName
from tests.recorded import RECORDED

pytestmark = pytest.mark.fast


def ratio(log_ratios: list[float] | np.ndarray) -> Ratio:
    found = ratio_between(np.full(len(log_ratios), 10.0), 10.0 * np.exp(log_ratios))
    assert found is not None
    return found


def spread(mean: float, deviation: float = 0.1, blocks: int = 10) -> Ratio:
    values = np.linspace(-1, 1, blocks)
    return ratio(mean + deviation * values / np.std(values, ddof=1))


def test_the_ratio_is_the_geometric_mean_of_the_blocks_with_students_interval() -> None:
    log_ratios = [0.1, 0.3, 0.2, 0.6]
    found, interval = ratio(log_ratios), stats.ttest_1samp(log_ratios, 0).confidence_interval(0.95)
    assert found.ratio == pytest.approx(np.exp(0.3))
    assert (found.low, found.high) == pytest.approx((np.exp(interval.low), np.exp(interval.high)))


def test_a_block_missing_a_side_does_not_count_and_one_block_gives_no_ratio() -> None:
    found = ratio_between(np.array([1.0, np.nan, 1.0, 0.0]), np.array([2.0, 2.0, 2.0, 2.0]))
    assert found is not None
    assert (found.blocks, found.ratio, found.low) == (2, pytest.approx(2), None)
    assert ratio_between(np.array([1.0, np.nan]), np.array([2.0, 2.0])) is None


def test_equal_blocks_of_a_tool_that_rounds_are_tested_with_the_deviation_of_its_rounding() -> None:
    then, near, far = (ratio_between(np.full(10, 4.0), np.full(10, each), resolution=1.0) for each in (4.0, 4.0, 9.0))
    assert then is not None
    assert then.log_deviation == pytest.approx(np.hypot(1 / 4, 1 / 4) / np.sqrt(12))
    changes = adjusted([change_between("p95_latency_ms", then, now, 0.1) for now in (near, far)])
    assert [change.drifted for change in changes] == [False, True]
    assert all(change.p_value is not None for change in changes)
    fine = ratio_between(np.array([400.0, 440.0]), np.array([400.0, 400.0]), resolution=1.0)
    assert fine == ratio_between(np.array([400.0, 440.0]), np.array([400.0, 400.0]))


def test_without_a_margin_it_is_welchs_test() -> None:
    rng = np.random.default_rng(1)
    then, now = rng.normal(0, 0.2, 12), rng.normal(0.2, 0.4, 7)
    change = change_between("throughput_mib_s", ratio(then), ratio(now), 1e-12)
    welch = stats.ttest_ind(now, then, equal_var=False)
    assert change.p_value == pytest.approx(welch.pvalue)
    interval = welch.confidence_interval(0.95)
    assert change.change_low_fraction == pytest.approx(np.expm1(interval.low))
    assert change.change_high_fraction == pytest.approx(np.expm1(interval.high))


def test_a_significant_change_within_the_margin_is_not_drift() -> None:
    then, now = spread(0.0, 0.01), spread(np.log(1.09), 0.01)
    assert not adjusted([change_between("throughput_mib_s", then, now, 0.10)])[0].drifted
    assert adjusted([change_between("throughput_mib_s", then, now, 0.05)])[0].drifted


@pytest.mark.parametrize("factor", [1.4, 1 / 1.4])
def test_a_change_to_either_side_is_drift(factor: float) -> None:
    change = adjusted([change_between("p95_latency_ms", spread(-1.0), spread(-1.0 + np.log(factor)), 0.10)])[0]
    assert change.drifted
    assert change.change_fraction == pytest.approx(factor - 1)


def test_a_change_just_as_large_as_the_margin_is_called_drift_in_one_of_twenty_cases() -> None:
    rng = np.random.default_rng(2)
    ratios = [(ratio(rng.normal(0, 0.3, 10)), ratio(rng.normal(np.log(1.1), 0.3, 10))) for _ in range(1000)]
    p_values = [change_between("throughput_mib_s", then, now, 0.1).p_value for then, now in ratios]
    found = sum(p_value is not None and p_value < 0.05 for p_value in p_values)
    assert stats.binom.ppf(0.001, 1000, 0.05) <= found <= stats.binom.ppf(0.999, 1000, 0.05)


def test_incomparable_values_claim_nothing_and_are_not_counted_as_comparisons() -> None:
    steady = Ratio(ratio=1, low=None, high=None, blocks=5, log_ratio=0, log_deviation=0)
    nothing = [change_between("p95_latency_ms", then, now, 0.1) for then, now in [(None, steady), (steady, None)]]
    nothing.append(change_between("p95_latency_ms", steady, steady.model_copy(update={"log_ratio": 1.0}), 0.1))
    one = change_between("throughput_mib_s", spread(0), spread(0.3), 0.1)
    *unknown, known = adjusted([*nothing, one])
    assert known.p_value_holm == known.p_value
    assert not any(change.drifted or change.p_value_holm for change in unknown)


def test_blocks_that_are_all_equal_have_no_spread_and_claim_nothing_however_they_round() -> None:
    for baseline in range(1, 40):
        then, now = (ratio(np.log([of / baseline] * 10)) for of in (3, 4))
        assert change_between("p95_latency_ms", then, now, 0.1).p_value is None


def test_pooled_parts_equal_one_measurement() -> None:
    rng = np.random.default_rng(3)
    parts = [rng.normal(mean, 0.2, blocks) for mean, blocks in [(0.0, 4), (0.1, 9), (0.3, 6)]]
    found, wanted = pooled([ratio(part) for part in parts]), ratio(np.concatenate(parts))
    assert found is not None
    assert found.model_dump() == pytest.approx(wanted.model_dump())
    assert pooled([]) is None


def test_a_change_point_is_where_a_level_is_left_and_the_next_is_compared_with_the_new_one() -> None:
    levels = [0.0, 0.02, -0.02, 0.5, 0.52, 0.0, 0.01]
    history: list[dict[ObjectiveName, Ratio]] = [{"throughput_mib_s": spread(level)} for level in levels]
    assert change_points([(ratios, 0.1) for ratios in history]) == [False, False, False, True, False, True, False]


def test_repeating_a_measurement_on_the_same_cluster_hours_later_is_not_drift() -> None:
    then = pd.read_csv(RECORDED / "campaigns" / "steady" / "repetitions.csv").query("phase == 'gain'")
    now = pd.read_csv(RECORDED / "cold_picks_under_steady_c1.csv").query("asked_by != 'cold'")
    changes = [
        change_between(objective, _recorded(then, size, objective), _recorded(now, size, objective), 0.1)
        for size in sorted(set(then.record_size_bytes))
        for objective in PRODUCER.means
    ]
    assert len(changes) == 10
    assert all(change.p_value is not None for change in changes)
    assert not any(change.drifted for change in adjusted(changes))


def _recorded(rows: pd.DataFrame, record_size_bytes: int, objective: ObjectiveName) -> Ratio | None:
    column = "latency_p95_ms" if objective == "p95_latency_ms" else objective
    of_size = rows[rows.record_size_bytes == record_size_bytes]
    of_size = of_size.assign(side=lambda each: each.is_baseline.map({True: 0, False: 1}))
    sides = of_size.pivot_table(index="block", columns="side", values=column).to_numpy(dtype=float)
    return ratio_between(sides[:, 0], sides[:, 1])
