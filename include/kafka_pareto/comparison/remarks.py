"""Symptoms and machine ceilings: the remarks of a comparison's report on all parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_pareto.analysis.wording import share
from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.rows import Row, named_level
from kafka_pareto.comparison.words import NONE, number_text

SHARES = {
    "generator": "of the load generator",
    "codec": "of the codec",
    "disk": "of the disk",
    "loopback": "of the loopback",
}
"""Column headings by the names of `bottleneck.shares`."""


@dataclass(frozen=True)
class CauseText:
    """A symptom's cause and fix as a sentence, and the part that measures the fix."""

    text: str
    part: str = ""


@dataclass(frozen=True)
class SymptomText:
    """The symptoms of one measurement, with one or two possible causes."""

    text: str
    causes: Sequence[CauseText] = ()


@dataclass(frozen=True)
class Remarks:
    """The remarks of a report.

    Attributes:
        symptoms: Those at the reference.
        ceilings: What the machine can do without Kafka; None if not measured.
    """

    parts: Sequence[PartComparison] = ()
    symptoms: Sequence[SymptomText] = ()
    ceilings: Ceilings | None = None


def shown_text(cause: CauseText) -> str:
    """State where the report shows the effect of a cause's fix."""
    return f"Measured here: part {cause.part}." if cause.part else "Not measured here."


def ceiling_rows(ceilings: Ceilings | None) -> list[Row]:
    """Return each ceiling of the machine, with a header; empty if not measured."""
    if ceilings is None:
        return []
    disk, codecs = ceilings.disk_write_mib_s, ceilings.codec_mib_s
    return [
        ("without Kafka", "at most"),
        ("loopback TCP, one connection", f"{number_text(ceilings.loopback_mib_s)} MiB/s"),
        ("sequential write, flushed", "not measured" if disk is None else f"{number_text(disk)} MiB/s"),
        *((f"{codec}, one core", f"{number_text(codecs[codec])} MiB/s") for codec in sorted(codecs)),
        ("load generator, one thread", f"{number_text(ceilings.generator_records_s)} records/s"),
        *([("cores of the client", f"{ceilings.client_cores}")] if ceilings.client_cores else []),
    ]


def ceilings_sentence(ceilings: Ceilings) -> str:
    """State the conditions under which codecs and load generator were measured."""
    cores = f", at most {ceilings.client_cores}" if ceilings.client_cores else ""
    return (
        f"Measured once, before the runs: codecs and load generator with records of {ceilings.record_size_bytes:,} B, "
        f"codecs on blocks of {ceilings.batch_size_bytes:,} B. Utilization is given for levels with such records, per "
        f"producer core{cores}."
    )


def share_rows(parts: Sequence[PartComparison], least: float = 0.0) -> list[Row]:
    """Return the levels' utilization of each ceiling, with a header; without levels below `least` of every ceiling."""
    known = [name for name in SHARES if any(name in level.ceiling_shares for part in parts for level in part.levels)]
    if not known:
        return []
    rows = [
        (
            part.part,
            named_level(level),
            *(share(level.ceiling_shares[name]) if name in level.ceiling_shares else NONE for name in known),
        )
        for part in parts
        for level in part.levels
        if max(level.ceiling_shares.values(), default=-1.0) >= least
    ]
    return [("part", "level", *(SHARES[name] for name in known)), *rows] if rows else []
