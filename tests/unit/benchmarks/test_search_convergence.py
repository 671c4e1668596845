"""Searches over the kept campaign's surrogates, and the table of their volumes."""

from __future__ import annotations

import pytest

from benchmarks.on_cluster import DATA
from benchmarks.search_convergence import SEARCHES, SEEDS, Searched, report

pytestmark = [pytest.mark.fast, pytest.mark.slow]

PAPER = DATA / "campaigns" / "paper"


def test_the_whole_space_has_a_larger_volume_than_the_first_random_points() -> None:
    whole, some = Searched(PAPER, "8192"), Searched(PAPER, "8192")
    assert whole.estimate_all() == 540
    assert next(iter(SEARCHES["random points"](some, 0))) == 92
    assert 0 < some.volume < whole.volume


def test_the_table_has_volumes_reached_so_far_and_the_median_number_of_points() -> None:
    volumes = {(name, "1024", seed): {92: 0.5, 276: 0.998} for name in SEARCHES for seed in range(SEEDS)}
    volumes[next(iter(SEARCHES)), "1024", 0] = {92: 0.4, 276: 0.6}
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in report(volumes, ["1024"])[4:]]
    assert rows[0][1:4] == ["0.490 (0.400)", "0.490 (0.400)", "0.958 (0.600)"]
    assert [row[-1] for row in rows] == ["276"] * len(SEARCHES)
