from __future__ import annotations

import pytest

from tests.simulations.gates import NOISE, verdicts
from tests.unit.gate.made_gate import study_with

pytestmark = [pytest.mark.simulations, pytest.mark.studies]


@pytest.mark.parametrize("noise", NOISE)
def test_at_most_one_in_twenty_gates_of_equal_settings_is_broken(noise: str) -> None:
    for study in (study_with(), study_with("p95_latency_ms < reference", "throughput_mib_s > reference")):
        found, _ = verdicts(study, 1.0, 0.1, gates=2_000, noise=NOISE[noise])
        assert found["broken"] <= 0.05 * 2_000


def test_a_latency_just_at_its_bound_seldom_passes() -> None:
    found, _ = verdicts(study_with(), 1.1, 0.1, gates=1_000)
    assert found["holds"] <= 0.05 * 1_000


def test_a_latency_half_as_high_again_is_broken_within_ten_blocks() -> None:
    found, blocks = verdicts(study_with(), 1.5, 0.1, gates=500)
    assert found["broken"] >= 0.99 * 500
    assert blocks < 10
