from __future__ import annotations

import numpy as np
import pytest

from kafka_pareto.study.objectives import ObjectiveName
from tests.simulations.campaigns import EqualArms, simulated_campaign

pytestmark = [pytest.mark.simulations, pytest.mark.studies]

CAMPAIGNS = 60
# A block slows both its sides by as much as the repetitions of a configuration differ among themselves.
SHARED_SD = 0.3


@pytest.fixture(scope="module")
def equal_campaigns() -> list[list[EqualArms]]:
    """Campaigns whose blocks slow both sides equally."""
    return [simulated_campaign(np.random.default_rng([12, number]), SHARED_SD) for number in range(CAMPAIGNS)]


def test_at_most_two_of_sixty_equal_campaigns_claim_any_change_of_any_objective(equal_campaigns: list[list[EqualArms]]):
    claiming = [
        any(gain.resolution in ("better", "worse") for arms in campaign for gain in arms.gains())
        for campaign in equal_campaigns
    ]
    assert sum(claiming) <= 2


@pytest.mark.parametrize(
    ("objective", "share"),
    # A dozen repetitions tell little of how much a CV varies.
    [("p95_latency_ms", 0.8), ("throughput_mib_s", 0.8), ("latency_cv", 0.5), ("throughput_cv", 0.5)],
)
def test_a_gain_of_twice_the_detectable_effect_is_found_in_most_campaigns(
    equal_campaigns: list[list[EqualArms]], objective: ObjectiveName, share: float
):
    planted = [
        arms[number % len(arms)].with_planted_gain(objective, np.random.default_rng([13, number]))
        for number, arms in enumerate(equal_campaigns)
    ]
    resolutions = [gain.resolution for gain in planted if gain is not None]
    assert len(resolutions) >= 0.9 * CAMPAIGNS
    assert resolutions.count("better") >= share * len(resolutions)
