from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.analysis.harm import failing_more_p_value, harm_of, largest_failure_fraction
from tests.unit.deciding import FAST, around, baseline, repetitions, study_of

pytestmark = pytest.mark.fast

PROTOCOL = study_of().protocol


@pytest.mark.parametrize(
    ("objective", "p95_ms", "throughput", "worse"),
    [("p95_latency_ms", 120, 20, 0.2), ("throughput_mib_s", 100, 16, 0.2), ("p95_latency_ms", 80, 20, -0.2)],
)
def test_worse_is_a_longer_latency_and_a_lower_throughput(
    objective: str, p95_ms: float, throughput: float, worse: float
):
    harm = harm_of(objective, baseline(), repetitions(FAST, around(p95_ms), around(throughput)), PROTOCOL)
    assert harm.worse_fraction == pytest.approx(worse)
    assert harm.best_fraction is not None
    assert harm.worst_fraction is not None
    assert harm.best_fraction < worse < harm.worst_fraction
    assert harm.is_shown() is (worse > 0)


def test_harm_is_excluded_only_where_even_the_bad_end_of_the_interval_keeps_the_margin():
    harm = harm_of("p95_latency_ms", baseline(), repetitions(FAST, around(101), around(20)), PROTOCOL)
    assert harm.worst_fraction is not None
    assert harm.is_excluded(harm.worst_fraction)
    assert not harm.is_excluded(harm.worst_fraction - 1e-9)


def test_the_more_looks_the_wider_each_interval():
    sides = baseline(), repetitions(FAST, around(101), around(20))
    one, two = (harm_of("p95_latency_ms", *sides, PROTOCOL, looks) for looks in (1, 2))
    assert (one.confidence, two.confidence) == pytest.approx((0.95, 0.975))
    assert one.worst_fraction is not None
    assert two.worst_fraction is not None
    assert two.worst_fraction > one.worst_fraction
    assert two.worse_fraction == one.worse_fraction


def test_blocks_without_any_spread_exclude_harm_only_where_nothing_changed():
    still = repetitions(study_of().baseline_configuration(), [1.0] * 10, around(20, seed=3))
    same, doubled = (
        harm_of("p95_latency_ms", still, repetitions(FAST, [p95] * 10, around(20)), PROTOCOL) for p95 in (1.0, 2.0)
    )
    assert (same.worst_fraction, doubled.worst_fraction) == (None, None)
    assert same.is_excluded(0.1)
    assert not doubled.is_excluded(0.1)


def test_without_a_block_that_both_have_nothing_is_excluded():
    assert not harm_of("p95_latency_ms", [], [], PROTOCOL).is_excluded(0.99)


def test_the_exact_test_of_failures_is_fishers():
    # Fisher's tea: four of four against none of four, one of the seventy ways to draw them.
    assert failing_more_p_value(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert failing_more_p_value(0, 20, 5, 20) == pytest.approx(1.0)


def test_no_failure_in_sixty_leaves_room_for_one_in_twenty():
    # The rule of three: 1 - 0.05 ** (1 / 60).
    assert largest_failure_fraction(0, 60) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert largest_failure_fraction(60, 60) == 1.0


def test_the_bound_on_failures_holds_in_nineteen_of_twenty_draws():
    rng = np.random.default_rng(7)
    bounds = [largest_failure_fraction(int(failed), 40) for failed in rng.binomial(40, 0.2, 400)]
    assert np.mean(np.array(bounds) >= 0.2) >= 0.93
