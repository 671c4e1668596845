"""Files beside the library that are no Python: in a checkout below `include/`, in a wheel below the package."""

from __future__ import annotations

from pathlib import Path

_IN_WHEEL = Path(__file__).with_name("shipped_files")
INCLUDE = _IN_WHEEL if _IN_WHEEL.is_dir() else Path(__file__).parents[1]
"""The folder of studies, advice, the guide of `doctor`, and what brokers are configured with."""

JARS = INCLUDE / "jars" if _IN_WHEEL.is_dir() else INCLUDE.parent / ".state" / "kafka" / "jars"
"""Kafka's jars and our own, which `make setup` or the build of a wheel puts there."""

STATE = INCLUDE.parent / ".state"
"""The folder of all that a checkout installs and keeps."""
