"""Judge harm: how much worse than the reference a mean may be, at the bad end of its interval."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.analysis.gains import Gain
from kafka_pareto.study.sections import Confirmation


def harm_margin(confirmation: Confirmation) -> float:
    """Return the margin of harm: the study's, by default the smallest relevant change."""
    stated = confirmation.harm_margin_fraction
    return confirmation.wanted_effect_fraction if stated is None else stated


def harm_not_excluded(gains: Sequence[Gain], margin_fraction: float) -> list[Gain]:
    """Return the gains that may be losses beyond the margin."""
    return [gain for gain in gains if gain.may_be_worse_by(margin_fraction)]
