"""Reconcile the access log with Hive's table: lost and duplicate events, and the time in each stage.

Timestamps are whole milliseconds of one clock, so an event's stages add up to its latency exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.analysis.wording import counted
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
"""First and last timestamp of each stage."""
_NO_BLANK = re.compile(r"\S")
_NAMED = 3
_MS = 1e3


@dataclass(frozen=True)
class Reconciled:
    """The outcome of the logged requests.

    Attributes:
        events: One row per request that is in Hive with all timestamps (the first copy), in log order: ID, timestamps,
            and a column per stage in milliseconds.
        requests: All logged requests: `request_id` and `t0`.
        pending: `t0` of requests still in flight when the wait ended, with the time of that end as `t7`.
        lost: IDs missing from Hive; empty if any are pending, since lost ones cannot be identified then.
        doubled: IDs duplicated in Hive.
        unknown: Rows in Hive that match no logged request or could not be read.
        unstamped: Requests that lack a timestamp; latencies exclude them.
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
        """Return the number of logged requests."""
        return len(self.requests)

    @property
    def arrivals(self) -> pd.DataFrame:
        """Return `t0` and `t7` of events and pending requests; the latter took at least as long."""
        return pd.concat([self.events[["t0", "t7"]], self.pending], ignore_index=True)

    @property
    def fault(self) -> str:
        """Describe the fault of the events; empty if each is in Hive once, with all timestamps."""
        if self.lost:
            return f"requests missing from Hive: {len(self.lost)} of {self.logged} ({first_ids_text(self.lost)})"
        if self.doubled:
            return f"duplicated requests in Hive: {len(self.doubled)} ({first_ids_text(self.doubled)})"
        if self.unknown:
            return f"rows in Hive that match no logged request: {self.unknown}"
        return f"events with missing timestamps: {self.unstamped}" if self.unstamped else ""


def reconcile(
    logged: pd.DataFrame, committed: pd.DataFrame, committed_at: dict[int, int], waited_until_ms: int | None = None
) -> Reconciled:
    """Join the access log with Hive's table.

    Args:
        logged: The result of `read_access_log`.
        committed: Hive's table: `request_id` (null if unreadable), `batch_id`, and `t1` to `t6`.
        committed_at: Commit time (t7) by batch ID.
        waited_until_ms: End of the wait if events were still arriving: later ones are pending. None if no events were
            in flight: missing ones are lost.
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


def backlog_at(arrivals: pd.DataFrame, began_ms: int) -> int:
    """Count requests logged before this time but not yet in Hive by then."""
    return int(((arrivals.t0 < began_ms) & (arrivals.t7 >= began_ms)).sum())


def negative_stage(events: pd.DataFrame) -> str:
    """Name the first stage that ends before it begins, with an example; empty if none does."""
    for name in STAGES:
        if (wrong := events[events[name] < 0]).size:
            first = wrong.iloc[0]
            events_text = counted(len(wrong), "event")
            return f"stage {name} is negative in {events_text}, such as {first.request_id} ({first[name]} ms)"
    return ""


def latencies_ms(events: pd.DataFrame) -> pd.Series:
    """Return each event's time from nginx to Hive."""
    return events.t7 - events.t0


def first_ids_text(ids: Sequence[str]) -> str:
    """Return the first three IDs as text, with an ellipsis if there are more."""
    return ", ".join(ids[:_NAMED]) + (" …" if len(ids) > _NAMED else "")


def read_access_log(path: Path) -> pd.DataFrame:
    """Return the requests in log order, rotated files first, as `requests_in` does.

    Raises:
        LoadToolError: If an object is truncated or lacks its ID or time.
    """
    rotated = [each for each in path.parent.glob(f"{path.name}.*") if each.suffix[1:].isdecimal()]
    files = [*sorted(rotated, key=lambda each: int(each.suffix[1:]), reverse=True), path]
    return requests_in({file.name: file.read_text(errors="replace") for file in files})


def requests_in(logs: Mapping[str, str]) -> pd.DataFrame:
    """Return the requests of log texts by file name: `request_id`, `t0` (ms since 1970) and `uri`.

    Raises:
        LoadToolError: If an object is truncated or lacks its ID or time.
    """
    rows = []
    for name, text in logs.items():
        for place, found in _objects(name, text):
            try:
                rows.append((str(found["request_id"]), round(float(found["t0"]) * _MS), str(found.get("uri", ""))))
            except (KeyError, TypeError, ValueError) as error:
                raise LoadToolError(f"{name}: at character {place}: not a request with request_id and t0") from error
    return pd.DataFrame(rows, columns=["request_id", "t0", "uri"])


def _objects(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder, end = json.JSONDecoder(), 0
    while begins := _NO_BLANK.search(text, end):
        place, found = begins.start(), None
        with suppress(ValueError):
            found, end = decoder.raw_decode(text, place)
        if not isinstance(found, dict):
            raise LoadToolError(f"{name}: at character {place}: not a JSON object: {text[place : place + 60]!r}")
        yield place, found
