"""Makes gains of given numbers, for tests of rules that ask for numbers and not for measurements."""

from __future__ import annotations

from kafka_pareto.analysis.gains import Gain, resolution_of
from kafka_pareto.study.objectives import ObjectiveName

WIDEST = {
    "reference_value": 99_999.0,
    "candidate_value": 99_999.0,
    "change_fraction": 9_999.0,
    "change_low_fraction": -0.999,
    "change_high_fraction": 9_999.0,
}
"""The values of a gain that take the most room on a card."""


def made_gain(
    low: float | None,
    high: float | None,
    change: float | None = 0.0,
    objective: ObjectiveName = "throughput_mib_s",
    wanted_effect_fraction: float = 0.1,
) -> Gain:
    """Returns a gain with this interval of the change, and its result."""
    gain = Gain(
        objective=objective,
        reference_value=1.0,
        candidate_value=None if change is None else 1 + change,
        change_fraction=change,
        change_low_fraction=low,
        change_high_fraction=high,
        hedges_g=None,
        cliffs_delta=None,
        resolution="not resolved",
        reference_repetition_ids=[],
        candidate_repetition_ids=[],
    )
    return gain.model_copy(update={"resolution": resolution_of(gain, wanted_effect_fraction)})
