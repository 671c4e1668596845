"""The ratio that the benchmark of load machines prints."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.load_machines import report

pytestmark = pytest.mark.fast


def test_the_ratio_is_that_of_each_block():
    measured = pd.DataFrame(
        {"block": [0, 0, 1, 1, 2, 2], "machines": [1, 3, 3, 1, 1, 3], "records_s": [100, 280, 580, 200, 400, 1_200]}
    )
    said = report(measured)

    assert said.startswith("3 blocks, machines of 0.3 core: one sends 200 records/s, three send 2.90")
