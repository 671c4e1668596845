"""Compute how repeatable definitions of variability are, on recorded data: `python -m benchmarks.variability`.

Uses split-half reliability. A trial's repetitions are cut into two halves in every possible way, and each half gives a
value. The correlation of both values over the configurations is averaged over the cuts. Spearman and Brown's formula
(British Journal of Psychology 3, 1910) converts it to other numbers of repetitions than a half has. The intervals are
95 %, from a bootstrap over configurations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from kafka_pareto.drivers.producer.within_run_cv import WINDOW_MS, latency_cv_in_run, throughput_cv_in_run
from tests.recorded import recorded_rows

STEADY = Path(__file__).parent / "data" / "steady_8192.csv"
PACED_S = 3.0  # the columns of each recorded repetition; see data/README.md
_UNTHROTTLED_S = 2.5
_BOOTSTRAP_RESAMPLES = 1_000
_SEED = 42

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Halves:
    """Holds each cut's values: two arrays of shape (cuts, configurations), with `repetitions` in each half."""

    repetitions: int
    one: Values
    other: Values

    def reliability(self, repetitions: int | None = None) -> float:
        """Return the split-half reliability, of a half or of that many repetitions."""
        return _stepped(_mean_correlation(self.one, self.other), (repetitions or self.repetitions) / self.repetitions)

    def interval(self, rng: np.random.Generator) -> tuple[float, float]:
        """Return the 95 % percentile interval of a half's reliability."""
        count = self.one.shape[1]
        drawn = rng.integers(count, size=(_BOOTSTRAP_RESAMPLES, count))
        reliabilities = [_mean_correlation(self.one[:, rows], self.other[:, rows]) for rows in drawn]
        low, high = np.nanquantile(reliabilities, [0.025, 0.975])
        return float(low), float(high)


def halves(values: Values, of_half: Callable[[Values], Values]) -> Halves:
    """Return every cut of the repetitions into two halves; one repetition is dropped if their number is odd.

    Args:
        values: Shape (configurations, repetitions).
        of_half: Makes one value for each configuration of a half's repetitions.
    """
    size = values.shape[1] // 2
    places = range(values.shape[1])
    cuts = [
        (one, other)
        for one in combinations(places, size)
        for other in combinations([place for place in places if place not in one], size)
        if one < other
    ]
    return Halves(
        repetitions=size,
        one=np.array([of_half(values[:, one]) for one, _ in cuts]),
        other=np.array([of_half(values[:, other]) for _, other in cuts]),
    )


def of_means(values: Values) -> Values:
    """Return the mean of each configuration's repetitions."""
    means: Values = np.mean(values, axis=1)
    return means


def of_cvs(values: Values) -> Values:
    """Return the CV across each configuration's repetitions, as in the paper."""
    cvs: Values = np.std(values, axis=1, ddof=1) / np.mean(values, axis=1)
    return cvs


def steady_values(of_repetition: Callable[[pd.Series], float | None]) -> Values:
    """Return one value for each recorded steady repetition, shape (configurations, blocks)."""
    rows = pd.read_csv(STEADY)
    rows["value"] = [of_repetition(row) for _, row in rows.iterrows()]
    return rows.pivot(index="configuration_id", columns="block", values="value").to_numpy(dtype=np.float64)


def latency_cv(row: pd.Series) -> float | None:
    """Return the latency CV within a recorded steady repetition, as the pipeline defines it."""
    return latency_cv_in_run({name: row[f"latency_{name}_us"] for name in ("p50", "p90")})


def throughput_cv(row: pd.Series) -> float | None:
    """Return the throughput CV within a recorded steady repetition, as the pipeline defines it."""
    return throughput_cv_in_run(_windows(row.paced_window_records), WINDOW_MS, PACED_S)


def main() -> None:
    """Print one line for each definition: across repetitions on cold bursts, within a run on steady ones."""
    print("split-half reliability of a trial's variability, by the number of repetitions; with 95 % interval")
    print(f"{'':62} {'a half':>26} {'3':>6} {'5':>6} {'10':>6}")
    cold = recorded_rows()
    for size, rows in cold.groupby("record_size_bytes"):
        for column, name in (("latency_p95_ms", "p95 latency"), ("throughput_records_s", "throughput")):
            values = rows.pivot(index="configuration_id", columns="block", values=column).to_numpy(dtype=np.float64)
            print(_line(f"cold burst, {size} B: CV of {name} across repetitions", halves(values, of_cvs)))
    within: dict[str, Callable[[pd.Series], float | None]] = {
        "steady, 8192 B: latency, SD / mean": lambda row: float(row.latency_sd_us / row.latency_avg_us),
        "steady, 8192 B: latency, (p95 - p50) / p50": lambda row: row.latency_p95_us / row.latency_p50_us - 1,
        "steady, 8192 B: latency, (p90 - p50) / p50     <- latency_cv": latency_cv,
        "steady, 8192 B: windows unthrottled, SD / mean": lambda row: throughput_cv_in_run(
            _windows(row.unthrottled_window_records), WINDOW_MS, _UNTHROTTLED_S
        ),
        "steady, 8192 B: windows unthrottled, successive differences": _successive_differences,
        "steady, 8192 B: windows at a rate, SD / mean <- throughput_cv": throughput_cv,
    }
    for name, of_repetition in within.items():
        print(_line(name, halves(steady_values(of_repetition), of_means)))


def _line(name: str, cut: Halves) -> str:
    low, high = cut.interval(np.random.default_rng(_SEED))
    others = " ".join(f"{cut.reliability(repetitions):6.2f}" for repetitions in (3, 5, 10))
    return f"{name:62} {cut.reliability():6.2f} of {cut.repetitions} ({low:5.2f} to {high:4.2f}) {others}"


def _successive_differences(row: pd.Series) -> float:
    """Return √(mean(d²) / 2) / mean, which cancels drift (von Neumann et al., Annals of Math. Statistics 12, 1941)."""
    inner = np.array(_windows(row.unthrottled_window_records)[1:-1])
    return float(np.sqrt(np.mean(np.diff(inner) ** 2) / 2) / np.mean(inner))


def _windows(text: str) -> list[int]:
    return [int(count) for count in text.split()]


def _mean_correlation(one: Values, other: Values) -> float:
    one, other = (side - side.mean(axis=1, keepdims=True) for side in (one, other))
    with np.errstate(invalid="ignore"):
        correlations = (one * other).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    return float(np.mean(correlations))


def _stepped(reliability: float, times: float) -> float:
    return times * reliability / (1 + (times - 1) * reliability)


if __name__ == "__main__":
    main()
