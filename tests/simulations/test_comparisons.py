from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kafka_pareto.analysis.gains import SIGNIFICANCE
from tests.simulations.comparisons import LINGERS, NO_EFFECT, made_table, share
from tests.unit.made_parts import THROUGHPUT

pytestmark = [pytest.mark.simulations, pytest.mark.studies]

PARTS = 200


@pytest.mark.parametrize("name", NO_EFFECT)
def test_parts_without_any_effect_claim_one_no_more_often_than_their_level_leaves_to_chance(name: str):
    part, claims = NO_EFFECT[name]
    left_to_chance = stats.binom.ppf(0.99, PARTS, SIGNIFICANCE)
    assert share(part, claims, PARTS, seed=22) * PARTS <= left_to_chance


def test_an_effect_of_a_third_with_five_percent_noise_is_the_only_one_found_in_nearly_all_tables():
    found, beside = [], []
    for number in range(PARTS):
        part = made_table(np.random.default_rng([23, number]), effects=(1, 1, 1.3, 1, 1, 1), sd=0.05)
        claimed = [
            (level.configuration_id, name)
            for level in part.levels
            for name, estimate in level.estimates.items()
            if estimate.p_value_holm is not None and estimate.p_value_holm < SIGNIFICANCE
        ]
        planted = (LINGERS[2].configuration_id, THROUGHPUT)
        found.append(planted in claimed)
        beside.append(bool(set(claimed) - {planted}))
    assert np.mean(found) >= 0.9
    assert sum(beside) <= stats.binom.ppf(0.99, PARTS, SIGNIFICANCE)
