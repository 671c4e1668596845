"""Made repetitions of a gate's two sides, for tests of its rules, which need no measurement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.gate.gate_study import candidate_of, gate_study
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.tune import Tune, tune_study
from tests.unit.deciding import CASE, repetitions
from tests.unit.measuring import quick

REFERENCE: dict[str, PropertyValue] = {"linger.ms": 5}
CANDIDATE: dict[str, PropertyValue] = {"linger.ms": 20, "compression.type": "lz4"}
RELATIVE = ["p95_latency_ms < 1.1 * reference", "throughput_mib_s > 0.9 * reference"]


@cache
def study_with(*conditions: str, blocks: int = 30, sizes: tuple[int, ...] = (int(CASE),)) -> Tune:
    """The gate of `quick` for these conditions, relative ones by default."""
    gate: dict[str, Any] = {"conditions": list(conditions or RELATIVE), "blocks": blocks}
    return gate_study(tune_study(quick(record_sizes_bytes=list(sizes), gate=gate)), REFERENCE, CANDIDATE)


def measured(
    study: Tune,
    p95_ms: tuple[float, float] = (100, 100),
    throughput_mib_s: tuple[float, float] = (20, 20),
    blocks: int = 10,
    spread: float = 0.02,
    outcomes: Sequence[str] = (),
) -> list[Repetition]:
    """Valid blocks of reference and candidate with these means; the candidate's last blocks end in `outcomes`."""
    rng = np.random.default_rng(5)
    sides = [dict(study.baseline_configuration()), candidate_of(study).configuration]
    found: list[Repetition] = []
    for place, side in enumerate(sides):
        noise = rng.normal(1, spread, (2, blocks))
        noise /= noise.mean(axis=1, keepdims=True)
        made = repetitions(side, p95_ms[place] * noise[0], throughput_mib_s[place] * noise[1])
        if place and outcomes:
            first = blocks - len(outcomes)
            made = [
                each.with_values({"outcome": outcomes[each.block - first]}) if each.block >= first else each
                for each in made
            ]
        found += made
    return sorted(found, key=lambda each: each.block)
