from __future__ import annotations

import pytest

from kafka_pareto.study.tune import Tune
from tests.simulations.gates import NOISE, verdicts
from tests.unit.gate.made_gate import study_with

pytestmark = [pytest.mark.simulations, pytest.mark.studies]


STRICT = study_with("p95_latency_ms < reference", "throughput_mib_s > reference")


@pytest.mark.parametrize(
    ("noise", "study"),
    [*((name, study_with()) for name in NOISE), *((name, STRICT) for name in NOISE if "half" not in name)],
)
def test_at_most_one_in_twenty_gates_of_equal_settings_is_broken(noise: str, study: Tune) -> None:
    found, _ = verdicts(study, 1.0, 0.1, gates=2_000, noise=NOISE[noise])
    assert found["broken"] <= 0.05 * 2_000


def test_a_latency_just_at_its_bound_seldom_passes() -> None:
    found, _ = verdicts(study_with(), 1.1, 0.1, gates=1_000)
    assert found["holds"] <= 0.05 * 1_000


def test_a_latency_half_as_high_again_is_broken_within_ten_blocks() -> None:
    found, blocks = verdicts(study_with(), 1.5, 0.1, gates=500)
    assert found["broken"] >= 0.99 * 500
    assert blocks < 10
