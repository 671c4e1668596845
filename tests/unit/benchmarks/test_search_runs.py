from __future__ import annotations

import pytest

from benchmarks.search_runs import main
from benchmarks.strategies.grids import GRIDS, Grid

pytestmark = pytest.mark.fast


def test_a_grid_that_is_not_recorded_is_refused_with_the_command_that_records_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unrecorded = Grid("1", "never recorded")
    monkeypatch.setitem(GRIDS, unrecorded.name, unrecorded)
    with pytest.raises(SystemExit, match=r"not recorded yet; run python -m benchmarks\.record_grid"):
        main(["random"], grid=unrecorded.name)
