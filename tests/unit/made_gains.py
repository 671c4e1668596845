"""Makes gains of given numbers, for tests of rules that ask for numbers and not for measurements."""

from __future__ import annotations

import math

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.analysis.paired_tests import Change
from kafka_pareto.study.objectives import ObjectiveName


def made_gain(change: Change, blocks: int = 0, objective: ObjectiveName = "throughput_mib_s") -> Gain:
    """Returns a gain with this change from so many blocks, neither adjusted nor resolved; NaN is None."""
    fraction, low, high, p_value = (
        None if math.isnan(each) else each
        for each in (change.change_fraction, change.low_fraction, change.high_fraction, change.p_value)
    )
    return Gain(
        objective=objective,
        reference_value=1.0,
        candidate_value=1 + change.change_fraction,
        change_fraction=fraction,
        change_low_fraction=low,
        change_high_fraction=high,
        p_value=p_value,
        p_value_holm=None,
        welch_p_value=None,
        mann_whitney_p_value=None,
        hedges_g=None,
        cliffs_delta=None,
        method="made of given numbers",
        resolution="not resolved",
        reference_repetition_ids=[f"b{block}" for block in range(blocks)],
        candidate_repetition_ids=[f"c{block}" for block in range(blocks)],
    )
