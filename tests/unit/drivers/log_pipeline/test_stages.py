from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from kafka_pareto.drivers.log_pipeline.stages import STAGES, latencies_ms, negative_stage, read_access_log, reconcile
from kafka_pareto.errors import LoadToolError
from tests.unit.drivers.log_pipeline.made_events import BEGAN_MS

pytestmark = pytest.mark.fast

STAMPS = (3, 10, 12, 13, 20, 900)  # what t1 to t6 are after t0, in milliseconds

ONE_LINE = '{"request_id":"a1","t0":1764000000.123,"uri":"/cart"}\n'
LINES = '{\n  "request_id": "b2",\n  "t0": 1764000000.999,\n  "uri": "/"\n}\n'


def logged(*ids: str) -> pd.DataFrame:
    return pd.DataFrame({"request_id": ids, "t0": [BEGAN_MS + 100 * at for at in range(len(ids))]})


def committed(*ids: str, batch_id: int = 0) -> pd.DataFrame:
    logged_ms = [BEGAN_MS + 100 * "abc".find(name) if name in "abc" else BEGAN_MS for name in ids]
    stamps = {f"t{at}": [t0 + stamp for t0 in logged_ms] for at, stamp in enumerate(STAMPS, start=1)}
    return pd.DataFrame({"request_id": ids, "batch_id": batch_id, **stamps})


def test_stages_add_up_to_the_total_in_every_event() -> None:
    found = reconcile(logged("a", "b"), committed("b", "a"), {0: BEGAN_MS + 1500})

    assert found.fault == ""
    assert list(found.events.request_id) == ["a", "b"]
    assert list(found.events.iloc[0][list(STAGES)]) == [3, 7, 2, 1, 7, 880, 600]
    assert list(found.events[list(STAGES)].sum(axis=1)) == list(latencies_ms(found.events)) == [1500, 1400]


def test_lost_and_duplicate_events_are_named_and_the_first_of_two_counts() -> None:
    rows = pd.concat([committed("a", batch_id=1), committed("a", "b", batch_id=0)])
    found = reconcile(logged("a", "b", "c"), rows, {0: BEGAN_MS + 1500, 1: BEGAN_MS + 9000})

    assert (list(found.lost), list(found.doubled)) == (["c"], ["a"])
    assert found.fault == "requests missing from Hive: 1 of 3 (c)"
    assert found.events.t7.max() == BEGAN_MS + 1500


def test_events_without_a_timestamp_or_request_are_counted() -> None:
    rows = pd.concat([committed("a"), committed("b").assign(t2=None), committed("of-nobody")])
    found = reconcile(logged("a", "b"), rows, {0: BEGAN_MS + 1500})

    assert (found.unstamped, found.unknown, len(found.events)) == (1, 1, 1)
    assert found.fault == "rows in Hive that match no logged request: 1"
    # Of a batch that was not committed.
    assert reconcile(logged("a"), committed("a", batch_id=7), {0: BEGAN_MS}).unstamped == 1


def test_in_flight_events_are_pending_and_not_lost() -> None:
    rows = pd.concat([committed("a"), committed("b", batch_id=1)])
    found = reconcile(logged("a", "b", "c"), rows, {0: BEGAN_MS + 1500}, waited_until_ms=BEGAN_MS + 9000)

    assert (found.fault, list(found.lost), found.unstamped) == ("", [], 0)
    assert found.pending.to_dict("list") == {"t0": [BEGAN_MS + 100, BEGAN_MS + 200], "t7": [BEGAN_MS + 9000] * 2}
    assert list(latencies_ms(found.arrivals)) == [1500, 8900, 8800]
    assert reconcile(logged("a"), committed("a"), {0: BEGAN_MS + 1500}).pending.empty


def test_a_stage_that_goes_back_in_time_is_named() -> None:
    found = reconcile(logged("a"), committed("a").assign(t3=BEGAN_MS + 5), {0: BEGAN_MS + 1500})

    assert negative_stage(found.events) == "stage filebeat_to_aggregator is negative in 1 event, such as a (-5 ms)"
    assert negative_stage(reconcile(logged("a"), committed("a"), {0: BEGAN_MS + 1500}).events) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [("", []), (ONE_LINE + LINES, [["a1", 1764000000123, "/cart"], ["b2", 1764000000999, "/"]])],
)
def test_objects_on_one_line_and_on_several_are_read_the_same(tmp_path: Path, text: str, found: list[object]) -> None:
    (tmp_path / "access.log").write_text(text)

    assert read_access_log(tmp_path / "access.log").to_numpy().tolist() == found


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "access.log",
            ONE_LINE + '{"request_id": "c',
            r"access.log: at character 54: not a JSON object: '\{\"request_id\"",
        ),
        ("access.log", "[1]", "not a JSON object"),
        ("access.log", '{"t0": 1}', "at character 0: not a request with request_id and t0"),
        ("access.log.1", "{}", r"access.log.1: at character 0: not a request with request_id"),
    ],
)
def test_an_entry_that_is_not_a_request_is_reported_with_its_file(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / "access.log").write_text(ONE_LINE)
    (tmp_path / name).write_text(text)

    with pytest.raises(LoadToolError, match=message):
        read_access_log(tmp_path / "access.log")


def test_rotated_files_come_before_the_log_oldest_first(tmp_path: Path) -> None:
    log_file = tmp_path / "access.log"
    for name in ("access.log", "access.log.1", "access.log.2", "access.log.10"):
        (tmp_path / name).write_text(ONE_LINE.replace("a1", name))
    for other in ("access.log.1.gz", "access.log.bak", "error.log.1", "access.logs"):
        (tmp_path / other).write_text("no request")

    read = list(read_access_log(log_file).request_id)
    assert read == ["access.log.10", "access.log.2", "access.log.1", "access.log"]
