"""Simulated parts of comparisons with known effects: `python -m tests.simulations.comparisons` prints false claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from kafka_pareto.analysis.gains import SIGNIFICANCE
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.part_comparison import Curve
from kafka_pareto.comparison.records import PartComparison
from tests.recorded import paper_study
from tests.simulations.campaigns import recorded_configurations
from tests.unit.made_parts import LATENCY, THROUGHPUT, compared, made_repetitions, noise, planned

Part: TypeAlias = Callable[[np.random.Generator], PartComparison]

BLOCKS = 5
LINGERS = planned([{"linger.ms": linger} for linger in (10, 0, 5, 20, 50, 100)])
GRID = planned([{"batch.size": batch, "linger.ms": linger} for batch, linger in product((1024, 2048, 4096), (0, 10))])
SIZES = planned([{"record_size_bytes": 2**power} for power in range(7, 17)])


def made_table(rng: np.random.Generator, effects: Sequence[float] = (1.0,) * 6, sd: float = 0.1) -> PartComparison:
    """Make a table whose throughputs have these effects, in blocks that differ more than their levels."""
    values = {
        THROUGHPUT: 100 * np.array(effects)[:, np.newaxis] * noise(rng, len(LINGERS), BLOCKS, sd, block_sd=0.3),
        LATENCY: 20 * noise(rng, len(LINGERS), BLOCKS, 2 * sd, block_sd=0.3),
    }
    return compared(LINGERS, made_repetitions(LINGERS, values))


def made_grid(rng: np.random.Generator) -> PartComparison:
    values = {name: noise(rng, len(GRID), BLOCKS, sd=0.1, block_sd=0.3) for name in (THROUGHPUT, LATENCY)}
    return compared(GRID, made_repetitions(GRID, values), kind="grid")


def made_curve(rng: np.random.Generator, every: int = 1) -> PartComparison:
    """Make a curve of a latency that grows with the record size, without a jump."""
    sizes = SIZES[::every]
    growth = np.array([[5 + level.configuration["record_size_bytes"] / 4000] for level in sizes])
    values = {LATENCY: growth * noise(rng, len(sizes), BLOCKS, sd=0.2, block_sd=0.3)}
    return compared(sizes, made_repetitions(sizes, values), bands=Curve("record_size_bytes", [LATENCY]))


def made_short_curve(rng: np.random.Generator) -> PartComparison:
    return made_curve(rng, every=2)


def resampled_table(rng: np.random.Generator) -> PartComparison:
    """Make a table of one recorded configuration; each block slows all levels equally."""
    recorded = recorded_configurations(str(rng.choice(paper_study().cases)))
    one = recorded[rng.integers(len(recorded))]
    drawn = rng.integers(len(one), size=(len(LINGERS), BLOCKS))
    slowed = np.exp(rng.normal(0, 0.3, BLOCKS))
    values = {
        THROUGHPUT: _numbers(one, "throughput_mib_s")[drawn] / slowed,
        LATENCY: _numbers(one, "latency_p95_ms")[drawn] * slowed,
    }
    return compared(LINGERS, made_repetitions(LINGERS, values))


def _numbers(repetitions: Sequence[Repetition], name: str) -> np.ndarray:
    return np.array([repetition.number(name) for repetition in repetitions])


def claims_a_difference(part: PartComparison) -> bool:
    return any(
        estimate.p_value_holm is not None and estimate.p_value_holm < SIGNIFICANCE
        for level in part.levels
        for estimate in level.estimates.values()
    )


def finds_differences(part: PartComparison) -> bool:
    for name in part.compared:
        lettered = [set(level.estimates[name].letters) for level in part.levels if level.estimates[name].letters]
        if any(not one & other for one, other in product(lettered, lettered)):
            return True
    return False


def claims_an_interaction(part: PartComparison) -> bool:
    return any(each.p_value_holm is not None and each.p_value_holm < SIGNIFICANCE for each in part.interactions)


def share(part: Part, claims: Callable[[PartComparison], bool], parts: int, seed: int) -> float:
    return float(np.mean([claims(part(np.random.default_rng([seed, number]))) for number in range(parts)]))


NO_EFFECT: dict[str, tuple[Part, Callable[[PartComparison], bool]]] = {
    "made table, against the reference": (made_table, claims_a_difference),
    "made table, letters": (made_table, finds_differences),
    "resampled table, against the reference": (resampled_table, claims_a_difference),
    "resampled table, letters": (resampled_table, finds_differences),
    "made grid, interaction": (made_grid, claims_an_interaction),
    "made curve, bands": (made_curve, lambda part: bool(part.bands)),
    "made short curve, bands": (made_short_curve, lambda part: bool(part.bands)),
}


def main() -> None:
    """Prints the share of parts without any effect that claim one."""
    for name, (part, claims) in NO_EFFECT.items():
        print(f"{name}: {share(part, claims, 2000, 21):.1%}", flush=True)


if __name__ == "__main__":
    main()
