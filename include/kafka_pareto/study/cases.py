"""Cases, one per mapped task: a short text in keys, topics and ids. A number is a record size in bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

CASE = "[a-z0-9][a-z0-9_-]{0,62}"


def case_label(case: str) -> str:
    """Return the case as people read it: `8,192 B` for a record size, otherwise unchanged."""
    return f"{int(case):,} B" if case.isdecimal() else case


def case_seed(case: str) -> int:
    """Return the case's addend to the study's seed."""
    return int(case) if case.isdecimal() else zlib.crc32(case.encode())


def in_order(cases: Iterable[str]) -> list[str]:
    """Sort cases: record sizes numerically, then all others."""
    return sorted(cases, key=lambda case: (0, int(case), "") if case.isdecimal() else (1, 0, case))
