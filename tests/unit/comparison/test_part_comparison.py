from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest

from kafka_pareto.analysis.paired_tests import holm, welch_p_value
from kafka_pareto.analysis.ratios import ratio_of_levels
from kafka_pareto.bottleneck.limiting_resource import Code, Verdict
from kafka_pareto.bottleneck.shares import Limit
from kafka_pareto.comparison.measured import PlannedLevel
from kafka_pareto.comparison.part_comparison import Curve
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.quantity import Quantity
from tests.unit.made_parts import (
    COMPARED,
    LATENCY,
    MODE,
    QUANTITIES,
    THROUGHPUT,
    compared,
    made_repetition,
    made_repetitions,
    noise,
    planned,
)

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("error")]

LINGERS = planned([{"linger.ms": linger} for linger in (0, 5, 10, 50)], reference=2)
EFFECTS = np.array([0.7, 1.0, 1.0, 1.3])[:, np.newaxis]


def measured(seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        THROUGHPUT: 100 * EFFECTS * noise(rng, 4),
        LATENCY: 20 * noise(rng, 4),
        "records_sent": np.full((4, 5), 1000.0),
    }


def test_each_level_has_the_ratio_to_the_reference_from_blocks_and_welch_s_test():
    values = measured()
    found = compared(LINGERS, made_repetitions(LINGERS, values))
    reference = values[THROUGHPUT][2]
    for at in (0, 1, 3):
        estimate, level = found.levels[at].estimates[THROUGHPUT], values[THROUGHPUT][at]
        expected = ratio_of_levels(dict(enumerate(reference)), dict(enumerate(level)))
        assert (estimate.ratio.value, estimate.ratio.low, estimate.ratio.high) == (
            expected.value,
            expected.low,
            expected.high,
        )
        assert estimate.welch_p_value == welch_p_value(reference, level)
        assert estimate.mean.value == pytest.approx(np.mean(level))
        assert estimate.sd == pytest.approx(np.std(level, ddof=1))
        assert estimate.repetitions == 5


def test_p_values_are_adjusted_over_all_levels_and_compared_quantities_of_the_part():
    values = measured()
    found = compared(LINGERS, made_repetitions(LINGERS, values))
    places = [(name, at) for name in COMPARED for at in (0, 1, 3)]
    raw = [
        ratio_of_levels(dict(enumerate(values[name][2])), dict(enumerate(values[name][at]))).p_value
        for name, at in places
    ]
    shown = [found.levels[at].estimates[name].p_value_holm for name, at in places]
    assert shown == pytest.approx(holm(raw))


def test_planted_effects_are_claimed_and_the_levels_without_one_are_not():
    found = compared(LINGERS, made_repetitions(LINGERS, measured()))
    claimed = {
        (level.values["linger.ms"], name)
        for level in found.levels
        for name, estimate in level.estimates.items()
        if estimate.p_value_holm is not None and estimate.p_value_holm < 0.05
    }
    assert claimed == {(0, THROUGHPUT), (50, THROUGHPUT)}


def test_the_reference_is_compared_with_nothing():
    found = compared(LINGERS, made_repetitions(LINGERS, measured()))
    estimate = found.reference_level.estimates[THROUGHPUT]
    assert found.reference_level.values == {"linger.ms": 10}
    assert (estimate.ratio, estimate.p_value_holm, estimate.welch_p_value) == (None, None, None)
    assert estimate.mean is not None


def test_the_best_level_is_relative_to_itself_and_has_the_first_letter():
    rng = np.random.default_rng(4)
    values = {
        THROUGHPUT: 100 * EFFECTS**3 * noise(rng, 4, block_sd=0),
        LATENCY: EFFECTS**-3 * noise(rng, 4, block_sd=0),
    }
    found = compared(LINGERS, made_repetitions(LINGERS, values))
    for name in COMPARED:
        estimates = [level.estimates[name] for level in found.levels]
        assert [each.letters for each in estimates] == ["c", "b", "b", "a"]
        assert (estimates[3].relative, estimates[3].relative_sd) == (1.0, None)
        assert estimates[0].relative == pytest.approx((1.3 / 0.7) ** 3, rel=0.1)
        assert estimates[0].relative_sd is not None


def test_a_quantity_that_is_not_compared_has_estimates_but_no_claim():
    found = compared(LINGERS, made_repetitions(LINGERS, measured()), compared=(LATENCY,))
    estimate = found.levels[0].estimates[THROUGHPUT]
    assert estimate.ratio is not None
    assert (estimate.p_value_holm, estimate.letters) == (None, "")


def test_a_quantity_without_direction_has_no_best_level_and_a_text_no_estimate():
    estimates = compared(LINGERS, made_repetitions(LINGERS, measured())).levels[0].estimates
    assert set(estimates) == {THROUGHPUT, LATENCY, "records_sent"}
    assert estimates["records_sent"].mean.value == 1000
    assert (estimates["records_sent"].mean.low, estimates["records_sent"].relative) == (None, None)


def test_only_valid_repetitions_are_estimated_and_all_outcomes_are_counted():
    values = {THROUGHPUT: np.array([[10.0, 11.0, 12.0], [20.0, 22.0, 24.0]])}
    levels = LINGERS[1:3]
    repetitions = made_repetitions(levels, values)
    repetitions += [
        made_repetition(levels[0], 3, {THROUGHPUT: 1e9}, outcome="records_lost"),
        made_repetition(levels[0], 4, {}, outcome="failed", reason="the broker was gone"),
    ]
    level = compared(levels, repetitions).levels[0]
    assert level.outcomes == {"valid": 3, "records_lost": 1, "failed": 1}
    assert level.repetition_ids == [each.repetition_id for each in repetitions[:3]]
    assert level.estimates[THROUGHPUT].mean.value == pytest.approx(11.0)
    assert level.notes == []


def test_the_reasons_of_valid_repetitions_are_noted():
    repetitions = [made_repetition(LINGERS[2], at, {}, reason=reason) for at, reason in enumerate(["b", "", "a", "b"])]
    assert compared(LINGERS, repetitions).reference_level.notes == ["b", "a", "b"]


def test_a_missing_value_is_excluded_from_that_estimate_alone():
    levels = LINGERS[1:3]
    values = [(10.0, 5.0), (None, 6.0), (float("nan"), 7.0), (14.0, 8.0)]
    repetitions = [
        made_repetition(level, block, {THROUGHPUT: throughput, LATENCY: latency})
        for level, (block, (throughput, latency)) in product(levels, enumerate(values))
    ]
    estimates = compared(levels, repetitions).levels[0].estimates
    assert (estimates[THROUGHPUT].repetitions, estimates[LATENCY].repetitions) == (2, 4)
    assert estimates[THROUGHPUT].mean.value == pytest.approx(12.0)
    assert (estimates["records_sent"].repetitions, estimates["records_sent"].mean) == (0, None)


def test_a_repetition_of_a_driver_without_a_quantity_has_none():
    newer = (*QUANTITIES, Quantity("lag_s", float, may_be_missing=True, maximised=False))
    found = compared(LINGERS, made_repetitions(LINGERS, measured()), quantities=newer)
    assert found.levels[0].estimates["lag_s"].repetitions == 0


def test_a_part_of_which_nothing_is_valid_is_still_shown():
    found = compared(LINGERS, [])
    assert [level.repetition_ids for level in found.levels] == [[]] * 4
    assert all(estimate.mean is None for level in found.levels for estimate in level.estimates.values())


def test_published_numbers_are_shown_with_their_level():
    published = {LINGERS[3].configuration_id: {"throughput_records_s": 1_300_000.0}}
    levels = compared(LINGERS, made_repetitions(LINGERS, measured()), published=published).levels
    assert [level.published for level in levels] == [{}, {}, {}, {"throughput_records_s": 1_300_000.0}]


@pytest.mark.parametrize(
    ("codes", "bottleneck"),
    [
        (("disk", "disk", "cpu", ""), "disk"),
        (("disk", "", "", ""), ""),
        (("disk", "cpu", "gc", ""), ""),
        (("", "", "", ""), ""),
    ],
)
def test_a_limit_is_named_where_at_least_half_of_the_repetitions_found_it(codes: tuple[Code, ...], bottleneck: str):
    repetitions = [made_repetition(LINGERS[2], at, {}) for at in range(len(codes))]
    limits = {
        each.repetition_id: Limit(Verdict(code, {"host_cpu_busy_fraction": 0.2 * at}), {"generator": 0.1 * at})
        for at, (each, code) in enumerate(zip(repetitions, codes, strict=True))
    }
    found = compared(LINGERS, repetitions, limits=limits).reference_level
    assert found.bottleneck == bottleneck
    assert found.bottleneck_numbers == ({"host_cpu_busy_fraction": pytest.approx(0.1)} if bottleneck else {})
    assert found.ceiling_shares == {"generator": pytest.approx(0.15)}


def grid() -> tuple[list[PlannedLevel], np.ndarray]:
    """Return batch sizes and lingers that multiply, except for one combination with 1.6 times as much."""
    levels = planned([{"batch.size": b, "linger.ms": w} for b, w in product((1024, 2048, 4096), (0, 10))], reference=5)
    effects = np.array([0.4 * 1.6, 0.5, 0.64, 0.8, 0.8, 1.0])[:, np.newaxis]
    return levels, effects


def test_a_planted_interaction_of_a_grid_is_found_and_no_other():
    levels, effects = grid()
    rng = np.random.default_rng(5)
    values = {THROUGHPUT: 100 * effects * noise(rng, 6, sd=0.03), LATENCY: 20 * noise(rng, 6, sd=0.03)}
    found = compared(levels, made_repetitions(levels, values), kind="grid")
    assert [(each.quantity, each.values) for each in found.interactions] == [
        (name, {"batch.size": batch, "linger.ms": 0}) for name in COMPARED for batch in (1024, 2048)
    ]
    assert [each.p_value_holm < 0.05 for each in found.interactions] == [True, False, False, False]
    assert found.interactions[0].ratio.low < 1.6 < found.interactions[0].ratio.high


def test_scaling_is_fitted_along_the_number_of_clients():
    levels = planned([{"producers": clients} for clients in (1, 2, 5, 10)])
    law = np.array([[clients / (1 + 0.25 * (clients - 1))] for clients in (1, 2, 5, 10)])
    values = {THROUGHPUT: 100 * law * noise(np.random.default_rng(16), 4, sd=0.03)}
    found = compared(levels, made_repetitions(levels, values), scaling=Curve("producers", [THROUGHPUT, LATENCY]))
    scaling = found.scaling[0]
    assert [each.quantity for each in found.scaling] == [THROUGHPUT]
    assert list(scaling.speedup) == ["1", "2", "5", "10"]
    assert scaling.speedup["10"] == found.levels[3].estimates[THROUGHPUT].ratio
    assert scaling.serial_fraction.low < 0.25 < scaling.serial_fraction.high
    assert scaling.limit.low < 4 < scaling.limit.high


def test_jumps_of_a_latency_are_named_along_the_record_size():
    sizes = [2**power for power in range(7, 15)]
    levels = planned([{"record_size_bytes": size} for size in sizes], reference=3)
    jump = np.array([[1.7 if size > 512 else 1.0] for size in sizes])
    values = {LATENCY: 20 * jump * noise(np.random.default_rng(7), 8, sd=0.03)}
    found = compared(levels, made_repetitions(levels, values), bands=Curve("record_size_bytes", [LATENCY]))
    assert [(band.quantity, band.lower, band.upper) for band in found.bands] == [(LATENCY, 512, 1024)]
    assert found.bands[0].ratio.low < 1.7 < found.bands[0].ratio.high


def test_the_artifact_is_read_back_as_it_was():
    levels, effects = grid()
    values = {THROUGHPUT: 100 * effects * noise(np.random.default_rng(8), 6)}
    found = compared(levels, made_repetitions(levels, values), kind="grid", fixed={"acks": "all"})
    assert decode_record(found.model_dump_json().encode(), "part.json", PartComparison) == found


def test_exactly_one_level_is_the_reference():
    with pytest.raises(ValueError, match="part part: 2 levels are marked as the reference"):
        compared([*LINGERS, LINGERS[2]], [])


@pytest.mark.parametrize("name", [MODE, "unknown"])
def test_a_compared_quantity_must_be_a_number_declared_by_the_driver(name: str):
    with pytest.raises(ValueError, match=f"{name} cannot be compared"):
        compared(LINGERS, [], compared=(THROUGHPUT, name))


def test_a_curve_needs_a_table_of_its_factor_with_numbers():
    with pytest.raises(ValueError, match=r"a curve along producers needs a table of this factor alone"):
        compared(LINGERS, [], scaling=Curve("producers", [THROUGHPUT]))
    texts = planned([{"acks": "1"}, {"acks": "all"}])
    with pytest.raises(ValueError, match="acks '1': a curve needs levels that are numbers"):
        compared(texts, [], bands=Curve("acks", [LATENCY]))


@pytest.mark.slow
def test_a_table_of_twenty_levels_and_forty_quantities_takes_well_under_a_second():
    names = [f"quantity_{number}" for number in range(40)]
    quantities = [Quantity(name, float, may_be_missing=True, maximised=False) for name in names]
    levels = planned([{"linger.ms": linger} for linger in range(20)])
    rng = np.random.default_rng(9)
    repetitions = [
        made_repetition(level, block, {}).model_copy(update={"quantities": dict(zip(names, row, strict=True))})
        for block in range(5)
        for level, row in zip(levels, rng.lognormal(0, 0.1, (20, 40)).tolist(), strict=True)
    ]
    began = time.process_time()
    compared(levels, repetitions, quantities=quantities, compared=names[:8])
    assert time.process_time() - began < 2.0  # 0.5 s on a machine of its own
