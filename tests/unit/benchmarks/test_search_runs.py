from __future__ import annotations

import pytest

from benchmarks.search_runs import main
from benchmarks.strategies.grids import SECOND

pytestmark = pytest.mark.fast


@pytest.mark.skipif(SECOND.file.exists(), reason="the grid is recorded")
def test_a_grid_that_is_not_recorded_is_refused_with_the_command_that_records_it() -> None:
    with pytest.raises(SystemExit, match=r"not recorded yet; run python -m benchmarks\.record_grid"):
        main(["random"], grid=SECOND.name)
