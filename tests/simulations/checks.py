"""Estimate how often a check finds drift: `python -m tests.simulations.checks`, whose figures are in docs/rollout.md.

Whole blocks are drawn from the gain blocks of the kept campaigns, evidence and check from the same ones, so day effects
are excluded. Those are simulated apart, in made blocks of one comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd

from kafka_pareto.analysis.drift import Ratio, RatioChange, adjusted, change_between, ratio_between
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.retune import Retune
from tests.recorded import RECORDED

CAMPAIGNS = ("cold_burst", "steady")
CHECKS = 2_000
BLOCKS = Retune().blocks
DRIFT_FRACTION = 0.1
_BLOCK_SD = 0.1

Blocks: TypeAlias = dict[tuple[int, ObjectiveName], np.ndarray]
"""By record size and objective: shape (blocks, 2), the baseline first."""
Factor: TypeAlias = Callable[[int, ObjectiveName], float]
"""Returns the factor by which the active settings changed."""


def times(objective: ObjectiveName, factor: float, only_size: int | None = None) -> Factor:
    return lambda size, of: factor if of == objective and only_size in (None, size) else 1.0


CHANGES: Mapping[str, Factor] = {
    "unchanged": lambda *_: 1.0,
    "throughput / 1.3 at all record sizes": times("throughput_mib_s", 1 / 1.3),
    "throughput / 1.5 at one record size": times("throughput_mib_s", 1 / 1.5, 8192),
    "p95 latency x 2 at all record sizes": times("p95_latency_ms", 2.0),
    "p95 latency x 3 at all record sizes": times("p95_latency_ms", 3.0),
}


def main() -> None:
    for campaign in CAMPAIGNS:
        for name, factor in CHANGES.items():
            print(f"{campaign}: {name}: {drifted(recorded_blocks(campaign), factor, CHECKS, 24):.1%}", flush=True)
    for day_sd in (0.05, 0.1):
        print(f"unchanged, blocks differ by {_BLOCK_SD:.0%}, days by {day_sd:.0%}: {drifted_by_day(day_sd, 25):.0%}")


def recorded_blocks(campaign: str) -> Blocks:
    rows = pd.read_csv(RECORDED / "campaigns" / campaign / "repetitions.csv").query("phase == 'gain'")
    rows = rows.rename(columns={"latency_p95_ms": "p95_latency_ms"})
    rows["side"] = rows.is_baseline.map({True: 0, False: 1})
    return {
        (size, objective): of_size.pivot_table(index="block", columns="side", values=objective).to_numpy(dtype=float)
        for size, of_size in rows.groupby("record_size_bytes")
        for objective in PRODUCER.means
    }


def drifted(recorded: Blocks, factor: Factor, checks: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    found = (_simulated_check(recorded, rng, factor) for _ in range(checks))
    return sum(any(change.drifted for change in changes) for changes in found) / checks


def _simulated_check(recorded: Blocks, rng: np.random.Generator, factor: Factor) -> list[RatioChange]:
    drawn: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    changes = []
    for (size, objective), values in recorded.items():
        if size not in drawn:
            drawn[size] = rng.integers(len(values), size=len(values)), rng.integers(len(values), size=BLOCKS)
        then, now = (values[places] for places in drawn[size])
        reference, found = ratio_between(*then.T), ratio_between(now[:, 0], now[:, 1] * factor(size, objective))
        changes.append(change_between(objective, reference, found, DRIFT_FRACTION))
    return adjusted(changes)


def drifted_by_day(day_sd: float, seed: int) -> float:
    """Return the share of checks of one comparison that drift if only the day moves the ratio."""
    rng = np.random.default_rng(seed)

    def of_a_day() -> Ratio:
        return ratio_between(np.ones(BLOCKS), np.exp(rng.normal(0, day_sd) + rng.normal(0, _BLOCK_SD, BLOCKS)))

    found = (change_between("throughput_mib_s", of_a_day(), of_a_day(), DRIFT_FRACTION) for _ in range(CHECKS))
    return sum(adjusted([change])[0].drifted for change in found) / CHECKS


if __name__ == "__main__":
    main()
