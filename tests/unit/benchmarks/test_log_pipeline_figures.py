"""Compare the figures of `docs/results/log-pipeline.md` with the files of the recorded campaigns."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.drivers.log_pipeline.declaration import DRIVER as LOG_PIPELINE

pytestmark = pytest.mark.fast

PROJECT = Path(__file__).parents[3]
KEPT = PROJECT / "benchmarks" / "data" / "campaigns"
RESULTS = (PROJECT / "docs" / "results" / "log-pipeline.md").read_text(encoding="utf-8")
STAGES = [each.name for each in LOG_PIPELINE.stage_quantities]


def kept(campaign: str, part: str) -> pd.DataFrame:
    table = pd.read_csv(KEPT / campaign / "tables" / f"{part}.csv")
    return table.set_index(["factor variant", "quantity"])


def cells_of(scenario: str, heading: str) -> list[str]:
    """The cells of the row of a scenario, in the first table below the heading, without published values."""
    section = RESULTS.split(f"## {heading}\n")[1]
    row = next(line for line in section.splitlines() if line.startswith(f"| {scenario} |"))
    return [re.sub(r" \[.*\]", "", cell).strip(" *") for cell in row.split("|")[2:-1]]


@pytest.mark.parametrize(
    ("campaign", "heading"),
    [
        ("log_pipeline_scenarios", "The five scenarios by the published protocol"),
        ("log_pipeline_short", "Runs of a minute at a higher load"),
    ],
)
def test_the_table_of_scenarios_has_the_recorded_means(campaign: str, heading: str) -> None:
    table = kept(campaign, "scenarios")
    for variant in table.index.unique(level=0):
        mean, *stages, p95, _, _ = cells_of(variant, heading)
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
        table = kept("log_pipeline_short", part)
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
