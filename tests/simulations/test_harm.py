"""How often a pick that harms comes into force by itself, and how much a stated gain flatters."""

from __future__ import annotations

import pytest

from tests.simulations.harm import claimed_and_stated, outcomes

pytestmark = pytest.mark.simulations


@pytest.mark.parametrize("cases", [1, 6])
def test_a_harm_of_twice_the_margin_hardly_ever_comes_into_force_however_many_cases_are_tuned(cases: int) -> None:
    found = outcomes(120 // cases, cases, 0.2)
    assert found.before > 0.25
    assert found.now <= 0.05


def test_what_is_stated_does_not_flatter_as_what_is_claimed_does() -> None:
    share, claimed, stated = claimed_and_stated(150, -0.2, 0.35)
    assert 0.1 < share < 0.45
    assert claimed < -0.25
    assert stated == pytest.approx(-0.2, abs=0.06)
