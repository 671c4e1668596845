from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.analysis.failures import failing_more_p_value, largest_failure_fraction

pytestmark = pytest.mark.fast


def test_the_exact_test_of_failures_is_fishers():
    # Fisher's tea: four of four against none of four, one of the seventy ways to draw them.
    assert failing_more_p_value(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert failing_more_p_value(0, 20, 5, 20) == pytest.approx(1.0)


def test_no_failure_in_sixty_leaves_room_for_one_in_twenty():
    # The rule of three: 1 - 0.05 ** (1 / 60).
    assert largest_failure_fraction(0, 60) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert largest_failure_fraction(60, 60) == 1.0


@pytest.mark.slow
def test_the_bound_on_failures_holds_in_nineteen_of_twenty_draws():
    rng = np.random.default_rng(7)
    bounds = [largest_failure_fraction(int(failed), 40) for failed in rng.binomial(40, 0.2, 400)]
    assert np.mean(np.array(bounds) >= 0.2) >= 0.93
