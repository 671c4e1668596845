"""How long the parts of these tests took; the conftest prints it at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

TAKEN: list[tuple[str, float]] = []


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Notes the time between entering and leaving."""
    begun = time.monotonic()
    try:
        yield
    finally:
        TAKEN.append((name, time.monotonic() - begun))
