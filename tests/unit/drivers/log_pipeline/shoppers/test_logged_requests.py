from __future__ import annotations

import json

import pytest

from kafka_pareto.drivers.log_pipeline.shoppers.logged_requests import AccessLog, due_requests, read_log

pytestmark = pytest.mark.fast

NOON_S = 1_795_608_000
COMMON = '10.0.0.1 - - [25/Nov/2026:12:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 12'


def common(request: str, stamp: str = "25/Nov/2026:12:00:00 +0000") -> str:
    return f'10.0.0.1 - - [{stamp}] "{request}" 200 12'


@pytest.mark.parametrize(
    ("line", "at_s"),
    [
        (COMMON, NOON_S),
        (f'{COMMON} "-" "Mozilla/5.0 (\\"X\\") [a]"', NOON_S),
        ('::1 - a user [25/Nov/2026:13:00:00 +0100] "GET /a?b=1 HTTP/2.0" 304 -', NOON_S),
        ('{"time": 1795608000.25, "request": "GET /a?b=1 HTTP/1.1", "status": 200}', NOON_S + 0.25),
        ('{"time": "1795608000.25", "uri": "/a?b=1"}', NOON_S + 0.25),
        ('{"time": "2026-11-25T13:00:00+01:00", "uri": "/a?b=1"}', NOON_S),
        ('{"time": "2026-11-25T12:00:00.5", "uri": "/a?b=1"}', NOON_S + 0.5),
    ],
)
def test_an_entry_is_common_or_combined_or_json(line: str, at_s: float) -> None:
    assert read_log(f"{line}\n") == AccessLog([(at_s, "/a?b=1")], 0)


def test_every_method_counts_and_requests_without_a_path_are_skipped() -> None:
    requests = ["POST /orders HTTP/1.1", "-", "", "\\x16\\x03\\x01", "GET http://other/ HTTP/1.1", "GET /caf\\xC3\\xA9"]
    found = read_log("\n\n".join(map(common, requests)))

    assert [path for _, path in found.requests] == ["/orders", "/caf%C3%A9"]
    assert found.skipped == 4


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        '10.0.0.1 - - [25/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1"',
        common("GET /a HTTP/1.1", stamp="yesterday"),
        "{}",
        '{"time": 1}',
        '{"time": true, "uri": "/a"}',
        '{"time": NaN, "uri": "/a"}',
        '{"time": "noon", "uri": "/a"}',
        '{"time": 1, "uri": 2}',
        '{"time": 1, "uri": "/a"',
    ],
)
def test_an_invalid_line_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3: .*: must be an entry of nginx's combined or common log format, or"):
        read_log(f"{COMMON}\n\n{line}\n")


@pytest.mark.parametrize("text", ["", "\n \n", common("-")])
def test_a_log_without_a_request_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="contains no request"):
        read_log(text)


def at(*stamps_s: float) -> AccessLog:
    return read_log("\n".join(json.dumps({"time": each, "uri": f"/{place}"}) for place, each in enumerate(stamps_s)))


def test_requests_of_one_second_are_spread_evenly_within_it() -> None:
    found = due_requests(at(100, 100, 100, 100, 101, 103, 103), times=1.0)

    assert [due_s for due_s, _ in found] == [0, 0.25, 0.5, 0.75, 1, 3, 3.5]
    assert [path for _, path in found] == [f"/{place}" for place in range(7)]


def test_finer_stamps_are_kept_sorted_and_divided_by_times() -> None:
    found = due_requests(at(100.5, 103.0, 102.5, 102.5), times=2.0)

    assert found == [(0, "/0"), (1, "/2"), (1, "/3"), (1.25, "/1")]
