"""The estimated time left while the kept campaigns ran, compared with their actual time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from statistics import median

import pytest

from benchmarks.on_cluster import DATA
from benchmarks.time_left import EARLY, Replay, replayed, table

pytestmark = [pytest.mark.fast, pytest.mark.slow]

TABLES = Path(__file__).parents[3] / "benchmarks" / "tables.md"


@cache
def replays() -> list[Replay]:
    return [replayed(folder) for folder in sorted((DATA / "campaigns").iterdir())]


@pytest.mark.slow
def test_after_a_quarter_half_of_the_estimates_are_within_15_percent_and_nine_of_ten_within_40() -> None:
    off = [abs(each.at(EARLY).error) for each in replays()]
    assert len(off) >= 13
    assert median(off) <= 0.15
    assert sum(each <= 0.4 for each in off) >= 0.9 * len(off)


def test_the_remaining_time_is_estimated_equally_well_from_every_task() -> None:
    off = [abs(each.at(EARLY, since).error) for each in replays() for since in each.task_starts()]
    assert len(off) >= 140
    assert median(off) <= 0.15
    assert sum(each <= 0.4 for each in off) >= 0.9 * len(off)


def test_nine_of_ten_stated_ranges_contain_the_true_time() -> None:
    inside = [each.at(fraction).is_in_range for each in replays() for fraction in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)]
    assert sum(inside) >= 0.9 * len(inside), f"{sum(inside)} of {len(inside)}"


def test_quick_is_never_said_to_be_over_while_it_runs() -> None:
    """Its confirmation took more blocks than expected, and a report follows: both were estimated at no time."""
    quick = next(each for each in replays() if each.name == "quick")
    looked = [quick.at(percent / 200) for percent in range(200)]
    # A tenth of what is left at least, and all but the last seconds of the report are more than a few.
    assert min(each.estimate.likely_s / each.truth_s for each in looked) > 0.5
    assert min(each.estimate.likely_s for each in looked if each.truth_s > 20) >= 10


def test_the_page_of_tables_has_the_one_that_the_kept_campaigns_give() -> None:
    assert "\n".join(table(replays())) in TABLES.read_text(encoding="utf-8")
