"""Cases: what a step's tasks are mapped over. The study's driver says which: for the producer, record sizes.

A case is a short text that keys, topics and ids hold. One that is a number is a record size in bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

CASE = "[a-z0-9][a-z0-9_-]{0,62}"


def case_label(case: str) -> str:
    """The case as people read it: `8,192 B` for a record size, any other as it is."""
    return f"{int(case):,} B" if case.isdecimal() else case


def case_seed(case: str) -> int:
    """What a case adds to a study's seed, so that each has random numbers of its own."""
    return int(case) if case.isdecimal() else zlib.crc32(case.encode())


def in_order(cases: Iterable[str]) -> list[str]:
    """The cases, record sizes by their size and before all others."""
    return sorted(cases, key=lambda case: (0, int(case), "") if case.isdecimal() else (1, 0, case))
