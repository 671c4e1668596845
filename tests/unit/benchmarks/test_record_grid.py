"""Recording a grid: the first grid's configurations, resumed where the file ends."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from benchmarks.record_grid import (
    COLUMNS,
    CONFIGURATIONS,
    append_row,
    grid_configurations,
    main,
    planned,
    prepare,
    recording_file,
)
from benchmarks.strategies.grids import FIRST, SECOND
from benchmarks.strategies.table import BLOCKS
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.fast


def test_the_first_grids_configurations_are_those_recorded() -> None:
    grid = grid_configurations()

    assert len(grid) == CONFIGURATIONS == len(pd.read_csv(FIRST.file)) / BLOCKS
    assert list(grid[0].values()) == [8192, 0, "0", "none"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a CSV that holds no row yet."""
    prepare(tmp_path / "grid.csv")
    return tmp_path / "grid.csv"


def append(file: Path, second: int) -> None:
    started_at = f"2026-11-29T00:00:{second:02d}.000+00:00"
    append_row(file, {"block": 0, "configuration_id": second, "started_at": started_at})


def test_every_block_has_each_configuration_once_in_an_order_of_its_own(file: Path) -> None:
    plan = planned(range(20), 2, file)
    first, second = ([name for at, _, name in plan if at == block] for block in range(2))

    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second


def test_a_resumed_run_measures_only_what_the_file_does_not_hold(file: Path) -> None:
    plan = planned(range(20), 2, file)
    for second, (block, order, name) in enumerate(plan[:7]):
        started_at = f"2026-11-29T00:00:{second:02d}.000+00:00"
        append_row(file, {"block": block, "order_in_block": order, "configuration_id": name, "started_at": started_at})

    rows = pd.read_csv(file)
    assert list(rows.columns) == list(COLUMNS)
    assert list(rows.started_at_s) == list(range(7))
    assert planned(range(20), 2, file) == plan[7:]


def test_a_row_torn_by_an_interruption_is_removed_and_measured_again(file: Path) -> None:
    append(file, 0)
    whole = file.read_bytes()
    append(file, 1)
    os.truncate(file, len(whole) + 20)

    prepare(file)

    assert file.read_bytes() == whole
    assert sorted(name for _, _, name in planned(range(2), 1, file)) == [1]


@pytest.mark.parametrize("kept_bytes", [0, 20, None], ids=["empty", "torn header", "header alone"])
def test_a_file_without_rows_begins_with_one_header(file: Path, kept_bytes: int | None) -> None:
    file.write_bytes(file.read_bytes()[:kept_bytes])

    prepare(file)
    append(file, 3)

    rows = pd.read_csv(file)
    assert list(rows.columns) == list(COLUMNS)
    assert list(rows.started_at_s) == [0.0]


def test_the_grid_is_recorded_to_a_file_that_does_not_count_as_recorded() -> None:
    assert recording_file(BLOCKS, None, None) == SECOND.partial_file != SECOND.file


@pytest.mark.parametrize(("blocks", "configurations"), [(1, None), (BLOCKS, 10), (BLOCKS, CONFIGURATIONS)])
def test_a_trial_needs_a_file_of_its_own(tmp_path: Path, blocks: int, configurations: int | None) -> None:
    with pytest.raises(BadInputError, match="add --file"):
        recording_file(blocks, configurations, None)
    for recording in (SECOND.file, SECOND.partial_file):
        with pytest.raises(BadInputError, match="leave out --file"):
            recording_file(blocks, configurations, recording)
    assert recording_file(blocks, configurations, tmp_path / "trial.csv") == tmp_path / "trial.csv"


def test_more_configurations_than_the_grid_has_are_refused(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(main)
    found = CliRunner().invoke(app, ["--configurations", "361", "--file", str(tmp_path / "trial.csv")])
    assert found.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_the_columns_begin_with_those_of_the_first_grid() -> None:
    first = list(pd.read_csv(FIRST.file, nrows=0).columns)
    assert list(COLUMNS[: len(first)]) == first
