"""Reads access logs of both forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.stages import read_access_log
from kafka_pareto.errors import LoadToolError

pytestmark = pytest.mark.fast

ONE_LINE = '{"request_id":"a1","t0":1764000000.123,"uri":"/cart"}\n'
LINES = '{\n  "request_id": "b2",\n  "t0": 1764000000.999,\n  "uri": "/"\n}\n'


def test_objects_on_one_line_and_on_several_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(ONE_LINE + LINES)
    found = read_access_log(tmp_path / "access.log")

    assert found.to_numpy().tolist() == [["a1", 1764000000123, "/cart"], ["b2", 1764000000999, "/"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ONE_LINE + '{"request_id": "c', r"access.log: at character 54: no JSON object: '\{\"request_id\""),
        ("[1]", "no JSON object"),
        ('{"t0": 1}', "at character 0: no request with request_id and t0"),
    ],
)
def test_what_is_no_request_is_told(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "access.log").write_text(text)

    with pytest.raises(LoadToolError, match=message):
        read_access_log(tmp_path / "access.log")


def test_an_empty_log_has_no_requests(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("")

    assert read_access_log(tmp_path / "access.log").empty


def test_what_was_rotated_away_comes_before_the_log_the_oldest_first(tmp_path: Path) -> None:
    log_file = tmp_path / "access.log"
    for name in ("access.log", "access.log.1", "access.log.2", "access.log.10"):
        (tmp_path / name).write_text(ONE_LINE.replace("a1", name))
    for other in ("access.log.1.gz", "access.log.bak", "error.log.1", "access.logs"):
        (tmp_path / other).write_text("no request")

    assert list(read_access_log(log_file).request_id) == [
        "access.log.10",
        "access.log.2",
        "access.log.1",
        "access.log",
    ]


def test_what_is_no_request_is_told_with_the_rotated_file_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(ONE_LINE)
    (tmp_path / "access.log.1").write_text("{}")

    with pytest.raises(LoadToolError, match=r"access.log.1: at character 0: no request with request_id"):
        read_access_log(tmp_path / "access.log")
