"""How often a check calls an unchanged cluster drifted, and how often it finds a change that is there.

Blocks are drawn, whole, from the gain blocks of the kept campaigns: evidence and check from the same ones, so that what
a day does to all blocks of a check alike is not in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.analysis.drift import RatioChange, adjusted, change_between, ratio_between
from kafka_pareto.study.objectives import ObjectiveName
from kafka_pareto.study.producer import PRODUCER
from kafka_pareto.study.retune import Retune
from tests.recorded import RECORDED

pytestmark = pytest.mark.simulations

CHECKS = 400
Blocks = dict[tuple[int, ObjectiveName], np.ndarray]
"""By record size and objective: shape (blocks, 2), the baseline first."""


@pytest.fixture(scope="module", params=["cold_burst", "steady"])
def recorded(request: pytest.FixtureRequest) -> Blocks:
    rows = pd.read_csv(RECORDED / "campaigns" / request.param / "repetitions.csv").query("phase == 'gain'")
    rows = rows.rename(columns={"latency_p95_ms": "p95_latency_ms"})
    rows["side"] = rows.is_baseline.map({True: 0, False: 1})
    return {
        (size, objective): of_size.pivot_table(index="block", columns="side", values=objective).to_numpy(dtype=float)
        for size, of_size in rows.groupby("record_size_bytes")
        for objective in PRODUCER.means
    }


def simulated_check(
    recorded: Blocks, blocks: int, rng: np.random.Generator, factor: Callable[[int, ObjectiveName], float]
) -> list[RatioChange]:
    """One check of all record sizes; `factor` is what the settings in force have become."""
    drawn: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    changes = []
    for (size, objective), values in recorded.items():
        if size not in drawn:
            drawn[size] = rng.integers(len(values), size=len(values)), rng.integers(len(values), size=blocks)
        then, now = (values[places] for places in drawn[size])
        reference, found = ratio_between(*then.T), ratio_between(now[:, 0], now[:, 1] * factor(size, objective))
        changes.append(change_between(objective, reference, found, 0.1))
    return adjusted(changes)


def drifted(recorded: Blocks, seed: int, factor: Callable[[int, ObjectiveName], float]) -> int:
    """How many checks find any drift."""
    rng = np.random.default_rng(seed)
    checks = (simulated_check(recorded, Retune().blocks, rng, factor) for _ in range(CHECKS))
    return sum(any(change.drifted for change in changes) for changes in checks)


def test_at_most_one_in_twenty_checks_of_an_unchanged_cluster_is_a_false_alarm(recorded: Blocks) -> None:
    assert drifted(recorded, 21, lambda *_: 1.0) <= CHECKS / 20


def test_a_throughput_whose_gain_shrank_by_a_factor_of_1_3_is_found_by_four_of_five_checks(recorded: Blocks) -> None:
    def slower(_: int, objective: ObjectiveName) -> float:
        return 1 / 1.3 if objective == "throughput_mib_s" else 1.0

    assert drifted(recorded, 22, slower) >= 0.8 * CHECKS


def test_a_latency_that_trebled_against_the_baseline_is_found_by_four_of_five_checks(recorded: Blocks) -> None:
    """What a smaller change of the p95 latency is, these campaigns' own noise does not tell."""

    def slower(_: int, objective: ObjectiveName) -> float:
        return 3.0 if objective == "p95_latency_ms" else 1.0

    assert drifted(recorded, 23, slower) >= 0.8 * CHECKS
