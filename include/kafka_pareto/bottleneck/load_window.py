"""Holds which part of a load its counters are of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LoadWindow:
    """Holds a part of a load, in seconds since the load was begun."""

    begin_s: float
    end_s: float
