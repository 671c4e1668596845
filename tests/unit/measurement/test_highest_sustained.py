"""Search for the highest sustained rate of systems whose capacity is known."""

from __future__ import annotations

import pytest

from kafka_pareto.measurement.highest_sustained import highest_sustained

pytestmark = pytest.mark.fast


class System:
    """A system that sustains every rate up to its capacity, except in the tries in `disturbed`, counted from one."""

    def __init__(self, capacity_s: float, disturbed: tuple[int, ...] = ()) -> None:
        self.capacity_s = capacity_s
        self.disturbed = disturbed
        self.tries: list[float] = []

    def probe(self, rate_s: float) -> float | None:
        self.tries.append(rate_s)
        return rate_s if rate_s <= self.capacity_s and len(self.tries) not in self.disturbed else None


@pytest.mark.parametrize("capacity_s", [3.0, 999.0, 1000.0, 1001.0, 37_500.0])
def test_the_capacity_is_found_to_the_precision_from_either_side(capacity_s: float) -> None:
    found = highest_sustained(System(capacity_s).probe, 1000.0, 1.1)

    assert found is not None
    assert capacity_s / 1.1 <= found.rate_s <= capacity_s
    assert found.found == found.rate_s


def test_a_single_disturbance_does_not_decide() -> None:
    found = highest_sustained(System(5000.0, disturbed=(1, 4)).probe, 1000.0, 1.1)

    assert found is not None
    assert 5000 / 1.1 <= found.rate_s <= 5000


def test_a_guess_near_the_capacity_takes_few_tries() -> None:
    system = System(1000.0)
    highest_sustained(system.probe, 950.0, 1.1)

    assert len(system.tries) == 3  # a rate that is not held is tried twice


def test_a_system_that_sustains_no_rate_has_no_capacity() -> None:
    assert highest_sustained(System(0.5).probe, 1000.0, 1.1) is None
