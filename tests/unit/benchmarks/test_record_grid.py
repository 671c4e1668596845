"""Recording a grid: the first grid's configurations, resumed where the file ends."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.record_grid import COLUMNS, append_row, grid_configurations, planned
from benchmarks.strategies.grids import FIRST
from benchmarks.strategies.table import BLOCKS

pytestmark = pytest.mark.fast


def test_the_first_grids_configurations_are_those_recorded() -> None:
    grid = grid_configurations()

    assert len(grid) == len(pd.read_csv(FIRST.file)) / BLOCKS
    assert list(grid[0].values()) == [8192, 0, "0", "none"]


def test_every_block_has_each_configuration_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    plan = planned(range(20), 2, tmp_path / "grid.csv")
    first, second = ([name for at, _, name in plan if at == block] for block in range(2))

    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second


def test_a_resumed_run_measures_only_what_the_file_does_not_hold(tmp_path: Path) -> None:
    file = tmp_path / "grid.csv"
    plan = planned(range(20), 2, file)
    for second, (block, order, name) in enumerate(plan[:7]):
        started_at = f"2026-11-29T00:00:{second:02d}.000+00:00"
        append_row(file, {"block": block, "order_in_block": order, "configuration_id": name, "started_at": started_at})

    rows = pd.read_csv(file)
    assert list(rows.columns) == list(COLUMNS)
    assert list(rows.started_at_s) == list(range(7))
    assert planned(range(20), 2, file) == plan[7:]


def test_the_columns_begin_with_those_of_the_first_grid() -> None:
    first = list(pd.read_csv(FIRST.file, nrows=0).columns)
    assert list(COLUMNS[: len(first)]) == first
