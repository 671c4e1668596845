"""Compare the figures of `docs/results/log-pipeline.md` with the files of the recorded campaign."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.drivers.log_pipeline.declaration import DRIVER as LOG_PIPELINE

pytestmark = pytest.mark.fast

PROJECT = Path(__file__).parents[3]
KEPT = PROJECT / "benchmarks" / "data" / "campaigns" / "log_pipeline_short"
RESULTS = (PROJECT / "docs" / "results" / "log-pipeline.md").read_text(encoding="utf-8")
STAGES = [each.name for each in LOG_PIPELINE.stage_quantities]


def kept(part: str) -> pd.DataFrame:
    table = pd.read_csv(KEPT / "tables" / f"{part}.csv")
    return table.set_index(["factor variant", "quantity"])


def cells_of(scenario: str, column: int) -> list[str]:
    """The cells of the row of a scenario, in the table whose head has the given number of cells."""
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in RESULTS.splitlines() if "|" in line]
    (row,) = [row for row in rows if row and row[0] == scenario and len(row) == column]
    return row[1:]


def test_the_table_of_scenarios_has_the_recorded_means() -> None:
    table = kept("scenarios")
    for variant in table.index.unique(level=0):
        mean, *stages, p95, _, _ = cells_of(variant, 10)
        seconds = {name: table["mean"][variant, name] / 1000 for name in [*STAGES, "latency_mean_ms", "latency_p95_ms"]}
        spread = {name: table["sd"][variant, name] / 1000 for name in ("latency_mean_ms", "latency_p95_ms")}
        digits = 1 if seconds["latency_mean_ms"] > 10 else 2
        for cell, name in ((mean, "latency_mean_ms"), (p95, "latency_p95_ms")):
            assert cell == f"{seconds[name]:.{digits}f} ± {spread[name]:.{digits}f}", (variant, name)
        to_kafka = sum(seconds[name] for name in STAGES[2:5])
        assert stages == [f"{seconds[name]:.2f}" for name in STAGES[:2]] + [f"{to_kafka:.2f}"] + [
            f"{seconds[name]:.2f}" for name in STAGES[5:]
        ], variant


def test_the_errors_of_predictions_are_those_of_the_kept_tables() -> None:
    of_mean: dict[tuple[str, str], int] = {}
    of_stages: dict[tuple[str, str], float] = {}
    for part in ("scenarios", "light_load"):
        table = kept(part)
        for variant in table.index.unique(level=0):
            found = table.loc[variant].dropna(subset="predicted")
            if not found.empty:
                whole = found.loc["latency_mean_ms"]
                errors = (found["predicted"] - found["mean"]).abs()[STAGES]
                of_mean[part, variant] = round(100 * (whole.predicted / whole["mean"] - 1))
                of_stages[part, variant] = errors.sum() / whole["mean"]
    page = " ".join(RESULTS.split())
    assert f"except in zero_wait ({of_mean.pop(('scenarios', 'zero_wait'))} %)" in page
    assert f"within {min(of_mean.values())} to {max(of_mean.values()):+} % of the measured mean" in page
    assert "about a quarter of the mean in micro_batching, io_control and hybrid" in page
    quarter = [of_stages["scenarios", variant] for variant in ("micro_batching", "io_control", "hybrid")]
    assert quarter == pytest.approx([0.25] * 3, abs=0.025)
