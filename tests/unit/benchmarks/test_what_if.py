"""The table of an audit's predictions, and the records that its trial sends."""

from __future__ import annotations

import json
from itertools import islice

import pandas as pd
import pytest

from benchmarks.what_if import KINDS, report, sample_lines
from kafka_pareto.study.sampled_records import mean_record_bytes

pytestmark = pytest.mark.fast


def test_points_count_by_their_error_and_those_not_predicted_apart() -> None:
    row = {
        "client": "java",
        "brokers": 1,
        "producers": 4,
        "recognized": "java",
        "stored_bytes": 100.0,
        "stored_depth": 10.0,
        "low_bytes": 98.0,
    }
    row |= {"high_bytes": 104.0}
    points = [
        row | {"predicted_bytes": 101.0, "predicted_depth": 10.5},
        row | {"predicted_bytes": 94.0, "predicted_depth": 8.0},
        row | {"predicted_bytes": None, "predicted_depth": None, "low_bytes": None, "high_bytes": None},
    ]

    assert report(pd.DataFrame(points))[-1] == "| java | 1 | 4 | 3 | 3 | 1 | 1 of 2 | 6.0 % | 2 of 2 | 1 of 2 |"


@pytest.mark.parametrize("kind", KINDS)
def test_sample_lines_are_the_same_each_time_and_have_keys_if_asked_for(kind: str) -> None:
    lines, again = (list(islice(sample_lines(kind, has_keys=True), 1000)) for _ in range(2))

    assert lines == again
    assert len(set(lines)) == 1000
    assert all("key" in json.loads(line) for line in lines)
    assert 20 < mean_record_bytes("".join(lines)) < 400
    assert "key" not in json.loads(next(sample_lines(kind, has_keys=False)))
