"""Compare the measurements of one warm JVM with those of fresh ones; `python -m benchmarks.warm_jvm` prints it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from kafka_pareto.analysis.paired_tests import Change, mean_change

FRESH, WARM, SHORT, FAILING = "fresh", "warm", "short", "failing"
MEASURED = {"throughput": "throughput_mib_s", "p95 latency": "latency_p95_ms"}
NEAR_FRACTION = 0.05
_RESAMPLES = 2_000
_SEED = 42

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """Holds how two ways of measuring agree on the same configurations, and how the same way would with itself.

    Each `chance_` value is the 5 % quantile of what is found when the two values of each pair are swapped at random: a
    lower value than that is more than noise.
    """

    configurations: int
    median_ratio: float
    near: int
    chance_near: int
    rank_correlation: float
    chance_rank_correlation: float


def agreement(fresh: Values, warm: Values, rng: np.random.Generator) -> Agreement:
    """Compare the means over blocks of each configuration.

    Args:
        fresh: Shape (configurations, blocks); NaN where there is no valid repetition.
        warm: The same of the other way. A block counts for a configuration that both have measured in it.
        rng: Draws which pairs are swapped.
    """
    known = np.isfinite(fresh) & np.isfinite(warm)
    rows = known.any(axis=1)
    sides = np.where(known, [fresh, warm], np.nan)[:, rows]

    def found(pair: Values) -> tuple[Values, float]:
        one, other = np.nanmean(pair, axis=2)
        return other / one, float(stats.spearmanr(one, other).statistic)

    def near(ratios: Values) -> int:
        return int(np.sum(np.abs(ratios - 1) <= NEAR_FRACTION))

    ratios, rank_correlation = found(sides)
    swapped = []
    for _ in range(_RESAMPLES):
        ratios_then, correlation = found(np.where(rng.random(sides.shape[1:]) < 0.5, sides, sides[::-1]))
        swapped.append((near(ratios_then), correlation))
    chance_near, chance_correlation = np.quantile(np.array(swapped), 0.05, axis=0)
    return Agreement(
        configurations=int(rows.sum()),
        median_ratio=float(np.median(ratios)),
        near=near(ratios),
        chance_near=int(chance_near),
        rank_correlation=rank_correlation,
        chance_rank_correlation=float(chance_correlation),
    )


def report(table: pd.DataFrame) -> list[str]:
    """Return the comparison as Markdown, of all that has been measured so far."""
    valid = table[table.outcome == "valid"]
    lines = [_seconds(valid, arm) for arm in (FRESH, WARM, SHORT) if (valid.arm == arm).any()]
    lines += ["", *_outcomes(table), "", *_agreements(valid[valid.phase == "arms"])]
    return [*lines, "", *_drift(valid[valid.phase == "drift"]), "", *_after_failures(valid[valid.phase == "failure"])]


def _seconds(valid: pd.DataFrame, arm: str) -> str:
    rows = valid[(valid.arm == arm) & (valid.phase == "arms")]
    return (
        f"{arm}: {len(rows)} repetitions, median {rows.seconds.median():.2f} s each "
        f"(the load generator {rows.wall_s.median():.2f} s, its CPU time {rows.client_cpu_s.median():.2f} s)"
    )


def _outcomes(table: pd.DataFrame) -> list[str]:
    lost = table[(table.outcome != "valid") & (table.arm != FAILING)]
    return [
        f"not valid: {row.phase} {row.block}, {row.arm}, {row.configuration_id}: {row.reason}"
        for row in lost.itertuples()
    ]


def _agreements(valid: pd.DataFrame) -> list[str]:
    lines = [
        "| | | configurations | median of warm / fresh | within 5 % | of one way with itself at least "
        "| rank correlation | of one way with itself at least |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for arm in (WARM, SHORT):
        for name, column in MEASURED.items():
            fresh, warm = (_by_block(valid[valid.arm == each], column) for each in (FRESH, arm))
            fresh, warm = fresh.align(warm)
            if len(fresh) < 3:  # of two configurations, a rank correlation says nothing
                continue
            rng = np.random.default_rng(_SEED)
            found = agreement(fresh.to_numpy(dtype=np.float64), warm.to_numpy(dtype=np.float64), rng)
            lines.append(
                f"| {arm} | {name} | {found.configurations} | {found.median_ratio:.3f} | {found.near} | "
                f"{found.chance_near} | {found.rank_correlation:.3f} | {found.chance_rank_correlation:.3f} |"
            )
    return lines


def _by_block(valid: pd.DataFrame, column: str) -> pd.DataFrame:
    return valid.pivot(index="configuration_id", columns="block", values=column)


def _drift(valid: pd.DataFrame) -> list[str]:
    """Compare the last quarter of the loads in one JVM with the first, and of the fresh JVMs among them."""
    lines = []
    for arm in (SHORT, FRESH):
        rows = valid[valid.arm == arm].sort_values("order")
        quarter = len(rows) // 4
        for name, column in MEASURED.items():
            values = rows[column].to_numpy(dtype=np.float64)
            if quarter >= 2:
                change = values[-quarter:].mean() / values[:quarter].mean() - 1
                lines.append(
                    f"drift, {name}, {arm}, {len(rows)} loads of the baseline: last quarter to first {change:+.1%} "
                    f"(CV {values.std(ddof=1) / values.mean():.1%})"
                )
    return lines


def _after_failures(valid: pd.DataFrame) -> list[str]:
    """Compare the load right after one that failed with the load right before it, in the same JVM."""
    lines = []
    for name, column in MEASURED.items():
        wide = valid[valid.arm == SHORT].pivot(index="block", columns="order", values=column).dropna()
        if len(wide) >= 2:
            before, after = (wide[order].to_numpy(dtype=np.float64) for order in (0, 2))
            lines.append(f"after a failure, {name}, {len(wide)} times: {_shown(mean_change(before, after))}")
    return lines


def _shown(change: Change) -> str:
    return f"{change.change_fraction:+.1%} (95 %: {change.low_fraction:+.1%} to {change.high_fraction:+.1%})"
