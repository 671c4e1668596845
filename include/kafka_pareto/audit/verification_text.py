"""Format a verification for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.analysis.wording import counted
from kafka_pareto.audit.verification import UseAtTime, Verification


def verification_text(found: Verification) -> str:
    """Return a line per producer, and the result last; without a trailing newline."""
    header = ["producer", "settings", "records", "per batch", "expected", "codec", "last sent", ""]
    rows = [
        [
            "without an ID" if each.id is None else f"{each.id}",
            each.use,
            f"{each.records:,}",
            f"{each.records_per_batch:,.1f}",
            "-" if each.expected_records_per_batch is None else f"{each.expected_records_per_batch:,.1f}",
            ", ".join(each.codecs),
            "at the end" if each.silent_s < 1 else f"{each.silent_s:,.0f} s earlier",
            "; ".join(each.reasons),
        ]
        for each in found.producers
    ]
    counts = Counter(each.use for each in found.producers)
    others = f"; {counted(found.more_producers, 'more producer')} not judged" if found.more_producers else ""
    uses = ", ".join(f"{count:,} {use}" for use, count in counts.items())
    return "\n".join(
        [
            f"Topic {found.topic} on {found.kafka}: the last {found.records:,} records, over {found.seconds:,.1f} s",
            f"Settings of {found.settings}",
            "",
            *(line.rstrip() for line in table_lines([header, *rows], "left")),
            "",
            *_history_lines(found.history),
            f"Producers: {uses}{others}",
        ]
    )


def _history_lines(history: Sequence[UseAtTime]) -> list[str]:
    """Return a line per sample, then the changes between them."""
    if not history:
        return []
    header = ["until (UTC)", "settings", "producers", "records/s", "per batch", "expected", "codec"]
    rows = [
        [
            _utc(each.until_ms),
            each.use,
            ", ".join(f"{count:,} {use}" for use, count in each.producers.items()),
            *(
                "-" if value is None else f"{value:,.{digits}f}"
                for value, digits in (
                    (each.records_s, 0),
                    (each.records_per_batch, 1),
                    (each.expected_records_per_batch, 1),
                )
            ),
            ", ".join(each.codecs),
        ]
        for each in history
    ]
    return [*(line.rstrip() for line in table_lines([header, *rows], "left")), "", *_changes(history), ""]


def _changes(history: Sequence[UseAtTime]) -> list[str]:
    """Name each change of the codec or of the use of the settings between two times."""
    changes = []
    for before, after in pairwise(history):
        between = f"between {_utc(before.until_ms)} and {_utc(after.until_ms)}"
        if before.codecs != after.codecs:
            changes.append(f"Codec changed from {', '.join(before.codecs)} to {', '.join(after.codecs)} {between}")
        if before.use != after.use:
            changes.append(f"Use of the settings changed from {before.use} to {after.use} {between}")
    if len(history) < 2:
        return ["Only one period has records"]
    return changes or ["No changes"]


def _utc(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
