"""Makes the repetitions of a part of a comparison from given numbers, for tests of conclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kafka_pareto.campaign.records import Outcome, Repetition
from kafka_pareto.comparison.measured import PlannedLevel
from kafka_pareto.comparison.part_comparison import compare_part
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.study.factors import FactorValue, configuration_id
from kafka_pareto.study.quantity import Quantity, Value

THROUGHPUT, LATENCY, MODE, LIMITED_BY = "throughput_mib_s", "latency_p99_ms", "window", "limited_by"
QUANTITIES = (
    Quantity(THROUGHPUT, float, may_be_missing=True, label="throughput", maximised=True),
    Quantity(LATENCY, float, may_be_missing=True, label="p99 latency", maximised=False),
    Quantity("records_sent", int, may_be_missing=True),
    Quantity(MODE, str, may_be_missing=False),
    Quantity(LIMITED_BY, str, may_be_missing=False),
)
COMPARED = (THROUGHPUT, LATENCY)


def planned(configurations: Sequence[Mapping[str, FactorValue]], reference: int = 0) -> list[PlannedLevel]:
    """Returns the levels of a part; the one at this place is the reference."""
    return [PlannedLevel(configuration_id(each), each, at == reference) for at, each in enumerate(configurations)]


def made_repetition(
    level: PlannedLevel, block: int, quantities: Mapping[str, Value], outcome: Outcome = "valid", reason: str = ""
) -> Repetition:
    return Repetition(
        repetition_id=f"design-r00-part-b{block:03d}-{level.configuration_id}",
        phase="design",
        round=0,
        case="part",
        configuration_id=level.configuration_id,
        is_baseline=level.is_reference,
        configuration=dict(level.configuration),
        block=block,
        order_in_block=0,
        outcome=outcome,
        reason=reason,
        attempts=1,
        started_at="2026-11-21T00:00:00+00:00",
        wall_s=1.0,
        client_cpu_s=1.0,
        load_1m=0.1,
        cpu_steal_fraction=0.0,
        other_cpu_fraction=0.0,
        quantities={each.name: quantities.get(each.name, "" if each.type is str else None) for each in QUANTITIES},
    )


def made_repetitions(levels: Sequence[PlannedLevel], values: Mapping[str, np.ndarray]) -> list[Repetition]:
    """Returns one valid repetition per block and level, from arrays of shape (levels, blocks) by quantity."""
    blocks = next(iter(values.values())).shape[1]
    return [
        made_repetition(level, block, {name: float(array[at, block]) for name, array in values.items()})
        for at, level in enumerate(levels)
        for block in range(blocks)
    ]


def noise(
    rng: np.random.Generator, levels: int, blocks: int = 5, sd: float = 0.05, block_sd: float = 0.2
) -> np.ndarray:
    """Draws lognormal factors of shape (levels, blocks): each block's own, which all its levels share, times noise."""
    drawn: np.ndarray = np.exp(rng.normal(0, block_sd, blocks) + rng.normal(0, sd, (levels, blocks)))
    return drawn


def compared(levels: Sequence[PlannedLevel], repetitions: Sequence[Repetition], **changes: Any) -> PartComparison:
    """Compares a table of the factor that the levels have; other arguments may be given."""
    arguments: dict[str, Any] = {
        "kind": "table",
        "part": "part",
        "factors": list(levels[0].configuration),
        "fixed": {},
        "reference": dict(next(each.configuration for each in levels if each.is_reference)),
        "planned": levels,
        "blocks": 5,
        "repetitions": repetitions,
        "quantities": QUANTITIES,
        "compared": COMPARED,
    }
    return compare_part(**{**arguments, **changes})
