"""Names and orders cases. A case is what one of a step's mapped tasks works on; the study's driver lists them.

A case is a short text that keys, topics and ids hold. One that is a number is a record size in bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

CASE = "[a-z0-9][a-z0-9_-]{0,62}"


def case_label(case: str) -> str:
    """Return the case as people read it: `8,192 B` for a record size, any other unchanged."""
    return f"{int(case):,} B" if case.isdecimal() else case


def case_seed(case: str) -> int:
    """Return the number that a case adds to a study's seed, so that each case has random numbers of its own."""
    return int(case) if case.isdecimal() else zlib.crc32(case.encode())


def in_order(cases: Iterable[str]) -> list[str]:
    """Sort the cases: record sizes by their size, then all others."""
    return sorted(cases, key=lambda case: (0, int(case), "") if case.isdecimal() else (1, 0, case))
