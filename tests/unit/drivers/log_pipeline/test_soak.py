from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.comparison.answer import answer_lines
from kafka_pareto.comparison.figures import part_figures
from kafka_pareto.comparison.page import PageContext, comparison_page
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.screen import MOST_LINES, WIDTH
from kafka_pareto.comparison.sentences import closing_sentences
from kafka_pareto.comparison.tables import part_text, title
from kafka_pareto.drivers.log_pipeline.behaviour_labels import timeline_of_run
from kafka_pareto.drivers.log_pipeline.compare import CompareLogPipeline
from kafka_pareto.drivers.log_pipeline.declaration import DRIVER
from kafka_pareto.drivers.log_pipeline.quantities import LogPipelineQuantities
from kafka_pareto.drivers.log_pipeline.shoppers.wanted import Wanted
from kafka_pareto.drivers.log_pipeline.soak import (
    LEAST_LINES,
    QUANTITIES,
    Drift,
    drift_lines,
    drifts_of,
    series_of,
    without_warmup,
)
from kafka_pareto.drivers.log_pipeline.stages import STAGES
from kafka_pareto.explorer.comparison_view import part_view
from kafka_pareto.steps.compare import compared_part
from kafka_pareto.study.factors import configuration_id
from kafka_pareto.study.quantity import Value
from kafka_pareto.study.study_file import load_study
from tests.recorded import STUDIES
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS, even, made_events, reconciled

pytestmark = pytest.mark.fast

WINDOW_S = 300
HOURLY = 3600 / WINDOW_S


def started_at(block: int) -> str:
    """Return when the window of a block starts, if each takes ten seconds longer than its load."""
    return (datetime(2026, 11, 29, tzinfo=UTC) + timedelta(seconds=20 + (WINDOW_S + 10) * block + 10)).isoformat()


def window(block: int, running_s: float | None = None, outcome: str = "valid", **values: Value) -> Repetition:
    """Return a window with these values; parts that hold the same all the time otherwise."""
    steady = dict.fromkeys(QUANTITIES, 50) | {"latency_p99_ms": 2000.0}
    age_s = {"running_s": WINDOW_S * (block + 1) if running_s is None else running_s}
    quantities = LogPipelineQuantities(100).values() | steady | age_s | values
    return Repetition(
        repetition_id=f"design-r00-soak-b{block:03d}-a",
        phase="design",
        round=0,
        case="soak",
        configuration_id="a",
        is_baseline=True,
        configuration={},
        block=block,
        order_in_block=0,
        outcome=outcome,
        attempts=1,
        started_at=started_at(block),
        wall_s=WINDOW_S,
        client_cpu_s=0.0,
        load_1m=0.0,
        cpu_steal_fraction=0.0,
        other_cpu_fraction=0.0,
        quantities=quantities,
    )


def windows(number: int, seed: int = 0, share: float = 0.0, **growing: float) -> list[Repetition]:
    """Return windows whose values fluctuate by 10, with this autocorrelation, and grow by so much per window."""
    rng = np.random.default_rng(seed)
    found = []
    left = 10 * rng.standard_normal(len(QUANTITIES))
    for block in range(number):
        left = share * left + 10 * np.sqrt(1 - share**2) * rng.standard_normal(len(QUANTITIES))
        values = {
            name: 1000 + growing.get(name, 0.0) * block + each for name, each in zip(QUANTITIES, left, strict=True)
        }
        found.append(window(block, **values))
    return found


def significant(repetitions: Sequence[Repetition]) -> list[str]:
    return [each.quantity for each in drifts_of(repetitions) if each.is_significant]


def test_windows_are_grouped_by_the_parts_they_ran_on() -> None:
    ages_s = [330, 640, 950, 331, 642, 330, 641, 955, 1260]
    repetitions = [window(block, age_s) for block, age_s in enumerate(ages_s)]
    # Stored windows of one that failed, and of one whose parts were not watched.
    repetitions[4] = window(4, 642, outcome="failed")
    repetitions.append(window(9, 1560).with_values({"running_s": None}))

    assert [[each.block for each in series] for series in series_of(repetitions[::-1], WINDOW_S)] == [
        [0, 1, 2],
        [3],
        [5, 6, 7, 8],
    ]


def test_parts_restarted_for_a_window_that_was_discarded_begin_a_series() -> None:
    first, discarded_before = window(0, 380), window(2, 690)  # the second attempt on parts that block 1's failure left

    assert [[each.block for each in series] for series in series_of([first, discarded_before], WINDOW_S)] == [[0], [2]]


@pytest.mark.parametrize(("number", "left"), [(0, 0), (2, 0), (3, 1), (10, 8), (11, 8), (24, 19), (288, 230)])
def test_a_fifth_of_a_series_warms_up_but_at_least_two_windows(number: int, left: int) -> None:
    kept = without_warmup(windows(number))

    assert len(kept) == left
    assert [each.block for each in kept] == list(range(number - left, number))


def test_planted_growth_is_found_with_its_slope_and_unit() -> None:
    grown = windows(24, spark_memory_mib=5.0, filebeat_open_files=-4.0, latency_p99_ms=20.0)
    found = {each.quantity: each for each in drifts_of(without_warmup(grown)) if each.is_significant}

    assert set(found) == {"latency_p99_ms", "spark_memory_mib", "filebeat_open_files"}
    memory, files = found["spark_memory_mib"], found["filebeat_open_files"]
    assert memory.low < 5 * HOURLY < memory.high
    assert files.low < -4 * HOURLY < files.high < 0
    lines = drift_lines(grown, WINDOW_S, 12)
    assert lines[0] == "Drift over 19 of 24 windows, without warm-up:"
    assert [line.partition(":")[0] for line in lines[1:-1]] == ["p99 latency", "Filebeat open files", "Spark memory"]
    assert re.fullmatch(r"Filebeat open files: -[\d.]+ per hour \(95 % -[\d.]+ to -[\d.]+\)", lines[2])
    assert re.fullmatch(r"Spark memory: \+[\d.]+ MiB per hour \(95 % \+[\d.]+ to \+[\d.]+\)", lines[3])
    assert lines[-1].startswith("No significant drift: nginx memory, ")
    assert max(map(len, lines)) <= WIDTH


def test_values_that_stay_the_same_have_no_drift_and_exact_growth_has() -> None:
    same = [window(block) for block in range(12)]
    exact = [window(block, broker_threads=40 + block) for block in range(12)]

    assert significant(same) == []
    assert drift_lines(same, WINDOW_S, 12)[-1].startswith("No significant drift: p99 latency, ")
    assert significant(exact) == ["broker_threads"]


def test_a_quantity_that_was_not_measured_has_no_drift() -> None:
    unknown = [window(block, shop_threads=None if block == 5 else 4) for block in range(8)]

    assert {each.quantity for each in drifts_of(unknown)} == {name for name in QUANTITIES if name != "shop_threads"}
    assert drift_lines(unknown, WINDOW_S, 12)[-1] == "Not measured in every window: shop threads"


def test_growth_is_of_the_longest_series_alone() -> None:
    before = windows(12, spark_memory_mib=30.0)
    after = windows(20, seed=1)
    # New parts hold less memory, which would look like a fall if both series were taken as one.
    later = [{"block": 12 + each.block, "started_at": started_at(12 + each.block)} for each in after]
    restarted = [*before, *(each.with_values(changes) for each, changes in zip(after, later, strict=True))]
    lines = drift_lines(restarted, WINDOW_S, 12)

    assert lines[0] == "Drift over 16 of 20 windows, without warm-up (longest of 2 series):"
    assert not any(line.startswith("Spark memory:") for line in lines)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_fewer_than_six_windows_are_too_short(number: int) -> None:
    assert (
        drift_lines(windows(number), WINDOW_S, 12)[-1]
        == "Too short to tell drift: 6 windows after the warm-up are needed"
    )


def test_lines_that_do_not_fit_are_named_in_one() -> None:
    grown = windows(24, **dict.fromkeys(QUANTITIES, 50.0))
    lines = drift_lines(grown, WINDOW_S, 6)

    assert len(lines) == 6
    assert lines[-1].startswith("Also significant: ")
    assert lines[-1].endswith(" more")
    for most in range(LEAST_LINES, 12):
        assert len(drift_lines([*grown[:-1], grown[-1].with_values({"latency_p99_ms": 0.0})], WINDOW_S, most)) <= most


def compared(*reports: Sequence[Repetition]) -> tuple[CompareLogPipeline, list[PartComparison], list[list[Repetition]]]:
    """Return the shipped study, with a part for each of these soak tests, and their windows with stages."""
    study = load_study(STUDIES / "log_pipeline_soak.yaml")
    assert isinstance(study, CompareLogPipeline)
    names = [f"soak_{number}" for number in range(len(reports))]
    parts = [study.variants[0].model_copy(update={"name": name}) for name in names]
    study = study.model_copy(update={"variants": parts})
    events = reconciled(made_events(even(100, 60), np.full(6000, 200.0)))
    timeline = timeline_of_run(events, Wanted("run", "1", rate_s=100.0, seconds=60), BEGAN_MS)
    level = study.baseline_configuration()
    stages = {f"{name}_ms": 10.0 for name in STAGES} | {"spark_to_hive_ms": 140.0, "label": "stable"}
    changes = {"configuration": level, "configuration_id": configuration_id(level), "timeline": timeline}
    found = []
    for windows_ in reports:
        latency = [{"latency_mean_ms": 190.0 + each.block, "latency_p95_ms": 500.0} | stages for each in windows_]
        found.append([each.with_values(changes | values) for each, values in zip(windows_, latency, strict=True)])
    return study, [compared_part(study, name, each) for name, each in zip(names, found, strict=True)], found


def test_the_first_screen_of_a_soak_test_shows_its_drift() -> None:
    study, [part], [found] = compared(windows(24, spark_memory_mib=50.0))
    lost = [*found[:-1], found[-1].with_values({"events_lost": 2})]

    lines = answer_lines(study, [part], {"soak_0": lost})
    assert lines[0].startswith("soak_0: latency mean 202 ms, p99 ")
    assert lines[0].endswith(" ms; stable")
    assert lines[1] == "Longest stage: Spark to Hive, 70 % (lossless_hybrid)"
    assert lines[2] == "Drift over 19 of 24 windows, without warm-up:"
    assert lines[3].startswith("Spark memory: +")
    assert lines[4].startswith("No significant drift: p99 latency, ")
    assert lines[5:] == ["Events: 2 lost, 0 duplicated, 0 in flight"]


@pytest.mark.parametrize("number", [1, 2])
def test_the_first_screen_of_a_soak_test_fits_a_terminal(number: int) -> None:
    grown = windows(24, **dict.fromkeys(QUANTITIES, 50.0))
    study, parts, found = compared(*[grown] * number)
    lines = answer_lines(study, parts, {part.part: each for part, each in zip(parts, found, strict=True)})

    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.slow
def test_a_report_on_a_single_level_compares_nothing() -> None:
    _, [part], _ = compared(windows(6))

    assert closing_sentences([part]) == ["Each part has a single level, so there is no comparison (24 blocks)."]
    assert title(part) == "soak_0: lossless_hybrid, in 24 blocks"
    assert row_with(part_text(part), "lossless_hybrid") == ["lossless_hybrid", "(reference)", "192", "±", "2"]
    figures = part_figures(part, DRIVER.stage_quantities, DRIVER.over_time)
    assert set(figures) == {f"soak_0_{name}.png" for name in ("stages", "latencies", "flow")}
    page = comparison_page(
        PageContext("log_pipeline_soak", "c1", "d", closing_sentences([part]), [part], {part.part: figures})
    )
    assert "Spark memory" in page
    (chart, *_) = part_view(part).charts
    assert [(point.level, point.is_reference) for point in chart.points] == [("lossless_hybrid", True)]


def row_with(text: str, level: str) -> list[str]:
    return next(line.split()[:5] for line in text.splitlines() if line.split()[:2] == [level, "(reference)"])


@pytest.mark.slow
@pytest.mark.parametrize(("share", "most"), [(0.0, 0.05), (0.5, 0.1)])
def test_series_without_drift_seldom_show_one_in_any_quantity(share: float, most: float) -> None:
    runs = 300
    wrong = sum(bool(significant(without_warmup(windows(24, seed, share)))) for seed in range(runs))

    assert wrong / runs <= most + 2 * np.sqrt(most * (1 - most) / runs)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_intervals_hold_the_planted_slope_in_95_of_100_series(share: float) -> None:
    runs, slope = 100, 5.0
    found = [
        drift
        for seed in range(runs)
        for drift in drifts_of(without_warmup(windows(24, seed, share, **dict.fromkeys(QUANTITIES, slope))))
    ]
    covered = np.mean([drift.low <= slope * HOURLY <= drift.high for drift in found])

    assert covered >= 0.94


def test_the_tested_quantities_are_latency_and_what_six_parts_hold() -> None:
    parts, resources = (
        ("nginx", "shop", "filebeat", "aggregator", "broker", "spark"),
        ("memory_mib", "open_files", "threads"),
    )
    assert set(QUANTITIES) == {"latency_p99_ms", *(f"{part}_{resource}" for part in parts for resource in resources)}


def test_a_p_value_of_nothing_is_not_significant() -> None:
    assert not Drift("broker_threads", 0.0, 0.0, 0.0, float("nan")).is_significant
