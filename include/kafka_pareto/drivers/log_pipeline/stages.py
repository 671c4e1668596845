"""Reads what the web server has logged, and follows each event by its stamps: what was lost, what came twice, how long.

Stamps are whole milliseconds of one clock, so that the stages of an event add up to its whole latency exactly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.errors import LoadToolError

STAMPS = ("t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7")
STAGES: dict[str, tuple[str, str]] = {
    "nginx_to_filebeat": ("t0", "t1"),
    "filebeat": ("t1", "t2"),
    "filebeat_to_aggregator": ("t2", "t3"),
    "aggregator": ("t3", "t4"),
    "aggregator_to_kafka": ("t4", "t5"),
    "kafka_to_spark": ("t5", "t6"),
    "spark_to_hive": ("t6", "t7"),
}
"""Maps each stage to the stamps at which it begins and ends."""
_NAMED = 3
_MS = 1e3


@dataclass(frozen=True)
class Reconciled:
    """Holds what became of the requests that were logged.

    Attributes:
        events: A row for each request that came to Hive with all of its stamps, when it came there first; in the order
            of the log, with its id, the stamps, and a column for each stage, in milliseconds.
        requests: What the web server logged: `request_id` and `t0`.
        pending: `t0` of those that were still on their way when the wait for them ended, and that end as `t7`.
        lost: Ids of those that are not in Hive; none as long as some are on their way: nobody knows which.
        doubled: Ids of those that are in Hive more than once.
        unknown: How many rows of Hive are of no request that was logged, or of none that can be read.
        unstamped: How many requests lack a stamp; they have no part in latencies.
    """

    events: pd.DataFrame
    requests: pd.DataFrame
    pending: pd.DataFrame
    lost: Sequence[str]
    doubled: Sequence[str]
    unknown: int
    unstamped: int

    @property
    def logged(self) -> int:
        """Returns how many requests the web server logged."""
        return len(self.requests)

    @property
    def arrivals(self) -> pd.DataFrame:
        """Returns `t0` and `t7` of events and of what is pending, which took at least as long as that."""
        return pd.concat([self.events[["t0", "t7"]], self.pending], ignore_index=True)

    @property
    def fault(self) -> str:
        """Says what is wrong with the events; empty where each came once, with all of its stamps."""
        if self.lost:
            return f"{len(self.lost)} of {self.logged} requests are not in Hive: {first_ids_text(self.lost)}"
        if self.doubled:
            return f"{len(self.doubled)} requests are in Hive more than once: {first_ids_text(self.doubled)}"
        if self.unknown:
            return f"{self.unknown} rows of Hive are of no request that was logged"
        return f"{self.unstamped} events lack a stamp" if self.unstamped else ""


def reconcile(
    logged: pd.DataFrame, committed: pd.DataFrame, committed_at: dict[int, int], waited_until_ms: int | None = None
) -> Reconciled:
    """Joins what the web server logged with what Hive holds.

    Args:
        logged: As `read_access_log` returns it.
        committed: Hive's table: `request_id`, `batch_id`, and `t1` to `t6`; what could not be read has no id.
        committed_at: When each batch was committed (t7), by its id.
        waited_until_ms: When the wait ended although more was coming; what came later is pending. None where nothing
            was on its way any more: what is not there is lost.
    """
    known = set(logged.request_id)
    rows = committed.assign(t7=committed.batch_id.map(committed_at))
    if waited_until_ms is not None:
        rows = rows[rows.t7 <= waited_until_ms]
    ours = rows[rows.request_id.isin(known)]
    times = ours.request_id.value_counts()
    first = ours.sort_values("t7", kind="stable").drop_duplicates("request_id")
    stamps = list(STAMPS[1:])
    events = logged[["request_id", "t0"]].merge(first[["request_id", *stamps]], on="request_id", how="left")
    is_there = events.request_id.isin(times.index)
    is_stamped = events[stamps].notna().all(axis=1)
    events_whole = events[is_there & is_stamped].reset_index(drop=True)
    events_whole = events_whole.astype(dict.fromkeys(stamps, "int64"))
    for name, (begin, end) in STAGES.items():
        events_whole[name] = events_whole[end] - events_whole[begin]
    missing = events[~is_there]
    pending = missing.iloc[:0] if waited_until_ms is None else missing.assign(t7=waited_until_ms)
    return Reconciled(
        events=events_whole,
        requests=logged[["request_id", "t0"]],
        pending=pending[["t0", "t7"]].astype("int64"),
        lost=list(missing.request_id) if waited_until_ms is None else [],
        doubled=list(times.index[times > 1]),
        unknown=len(rows) - len(ours),
        unstamped=int((is_there & ~is_stamped).sum()),
    )


def left_of_before(arrivals: pd.DataFrame, began_ms: int) -> int:
    """Counts those that were logged before a time, and were not yet in Hive."""
    return int(((arrivals.t0 < began_ms) & (arrivals.t7 >= began_ms)).sum())


def negative_stage(events: pd.DataFrame) -> str:
    """Names the first stage that ends before it begins, and an event of it; empty where none does."""
    for name in STAGES:
        if (wrong := events[events[name] < 0]).size:
            first = wrong.iloc[0]
            return f"{len(wrong)} events end stage {name} before they begin it: {first.request_id} by {-first[name]} ms"
    return ""


def latencies_ms(events: pd.DataFrame) -> pd.Series:
    """Returns each event's time from nginx to Hive, `t7` less `t0`."""
    return events.t7 - events.t0


def first_ids_text(ids: Sequence[str]) -> str:
    """Returns the first three ids as text, and says whether there are more."""
    return ", ".join(ids[:_NAMED]) + (" …" if len(ids) > _NAMED else "")


def read_access_log(path: Path) -> pd.DataFrame:
    """Returns the requests in the order of the log: `request_id`, `t0` in milliseconds since 1970, and `uri`.

    What was rotated away is part of the log: of `<path>.2`, `<path>.1` and so on, the highest number is the oldest.

    Raises:
        LoadToolError: If an object is cut short, or lacks its id or its time.
    """
    rows = []
    for file in [*_rotated_away(path), path]:
        for place, found in _objects(file):
            try:
                rows.append((str(found["request_id"]), round(float(found["t0"]) * _MS), str(found.get("uri", ""))))
            except (KeyError, TypeError, ValueError) as error:
                raise LoadToolError(f"{file.name}: at character {place}: no request with request_id and t0") from error
    return pd.DataFrame(rows, columns=["request_id", "t0", "uri"])


def _rotated_away(path: Path) -> list[Path]:
    numbered = [each for each in path.parent.glob(f"{path.name}.*") if each.suffix[1:].isdecimal()]
    return sorted(numbered, key=lambda each: int(each.suffix[1:]), reverse=True)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    text = path.read_text(errors="replace")
    decoder, place = json.JSONDecoder(), 0
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        if place == len(text):
            return
        try:
            found, end = decoder.raw_decode(text, place)
        except ValueError as error:
            raise LoadToolError(
                f"{path.name}: at character {place}: no JSON object: {text[place : place + 60]!r}"
            ) from error
        if not isinstance(found, dict):
            raise LoadToolError(f"{path.name}: at character {place}: no JSON object: {text[place : place + 60]!r}")
        yield place, found
        place = end
