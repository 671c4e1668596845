"""Labels of simulated queues with known truth, and of the kept campaigns."""

from __future__ import annotations

import pytest

from benchmarks.labels import CAMPAIGNS, SCENARIOS, kept_lines, kept_runs, labels, untaken_fraction
from kafka_pareto.drivers.log_pipeline.behaviour_labels import growth_of, label_of

pytestmark = pytest.mark.fast

RUNS = 20


# Batches that take all that waits grow with it: near their capacity the queue wanders for minutes.
WANDERING = [name for name in SCENARIOS if "all that waits" in name]
SETTLED = [name for name in SCENARIOS if name not in WANDERING]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "steady_s"), [*((each, 140) for each in SETTLED), *((each, 300) for each in WANDERING[:2])]
)
def test_of_twenty_runs_nineteen_are_labelled_right_once_there_is_enough_to_tell_by(name: str, steady_s: int) -> None:
    simulation, truth = SCENARIOS[name]

    counts = labels(simulation, steady_s, RUNS)
    assert counts[truth] >= 0.95 * RUNS, counts


@pytest.mark.parametrize("name", SETTLED)
@pytest.mark.parametrize("steady_s", [20, 40])
def test_a_short_run_is_called_too_short_rather_than_labelled_wrong(name: str, steady_s: int) -> None:
    simulation, truth = SCENARIOS[name]

    counts = labels(simulation, steady_s, RUNS)
    assert counts[truth] + counts["too_short_to_tell"] >= 0.95 * RUNS, counts


@pytest.mark.slow
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_the_labels_of_a_kept_campaign_follow_from_its_kept_seconds(name: str) -> None:
    for row, timeline, study in kept_runs(name):
        steady_from_s = study.protocol.steady_from_s
        growth = growth_of(timeline, steady_from_s)
        assert growth is not None
        assert row["label"] == label_of(timeline, steady_from_s, untaken_fraction(row))
        assert [row[f"queue_growth{end}_fraction"] for end in ("", "_low", "_high")] == pytest.approx(
            [growth.fraction, growth.low, growth.high], rel=1e-5
        )


def test_the_run_whose_queue_grew_to_thirteen_thousand_requests_collapsed() -> None:
    grown = [row for row, _, _ in kept_runs("log_pipeline_short") if row["queue_peak_events"] > 13_000]

    assert [row["label"] for row in grown] == ["collapsing"] * 3
    assert len(kept_lines()) > 2
