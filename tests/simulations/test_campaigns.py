"""What the whole statistics come to: campaigns without any gain, and campaigns with one that is there to be found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.decision.decision import Decision
from kafka_pareto.study.objectives import ObjectiveName
from tests.simulations.campaigns import EqualArms, resolution_of_planted, simulated_campaign

pytestmark = pytest.mark.simulations

CAMPAIGNS = 200
# A block slows both its sides by as much as the repetitions of a configuration differ among themselves.
SHARED_SD = 0.3


@pytest.fixture(scope="module")
def equal_campaigns() -> list[tuple[list[EqualArms], list[Decision]]]:
    return [simulated_campaign(np.random.default_rng([11, number]), 0.0) for number in range(CAMPAIGNS)]


@pytest.fixture(scope="module")
def slowed_campaigns() -> list[tuple[list[EqualArms], list[Decision]]]:
    """Campaigns whose blocks slow both sides alike."""
    return [simulated_campaign(np.random.default_rng([12, number]), SHARED_SD) for number in range(CAMPAIGNS)]


def claiming(campaigns: list[tuple[list[EqualArms], list[Decision]]], *resolutions: str) -> int:
    """How many campaigns claim such a change of any objective at any record size."""
    return sum(
        any(gain.resolution in resolutions for decision in decisions for gain in decision.gains)
        for _, decisions in campaigns
    )


@pytest.mark.parametrize("name", ["equal_campaigns", "slowed_campaigns"])
def test_at_most_sixteen_of_two_hundred_equal_campaigns_claim_any_gain(name: str, request: pytest.FixtureRequest):
    assert claiming(request.getfixturevalue(name), "better") <= 16


@pytest.mark.parametrize("name", ["equal_campaigns", "slowed_campaigns"])
def test_equal_campaigns_claim_any_change_no_more_often_than_their_level_leaves_to_chance(
    name: str, request: pytest.FixtureRequest
):
    left_to_chance = stats.binom.ppf(0.999, CAMPAIGNS, SIGNIFICANCE)
    assert claiming(request.getfixturevalue(name), "better", "worse") <= left_to_chance


@pytest.mark.parametrize("objective", ["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"])
def test_a_gain_of_twice_the_detectable_effect_is_found_in_at_least_four_of_five_campaigns(
    equal_campaigns: list[tuple[list[EqualArms], list[Decision]]], objective: ObjectiveName
):
    found = [
        resolution_of_planted(arms, decisions, objective, number % len(arms), np.random.default_rng([13, number]))
        for number, (arms, decisions) in enumerate(equal_campaigns)
    ]
    assert found.count("better") >= 160
