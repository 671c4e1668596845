"""Non-Python files of the library: below `include/` in a checkout, below the package in a wheel."""

from __future__ import annotations

from pathlib import Path

_IN_WHEEL = Path(__file__).with_name("shipped_files")
INCLUDE = _IN_WHEEL if _IN_WHEEL.is_dir() else Path(__file__).parents[1]
"""The folder of the studies, the advice, `doctor`'s guide and the brokers' configuration."""

JARS = INCLUDE / "jars" if _IN_WHEEL.is_dir() else INCLUDE.parent / ".state" / "kafka" / "jars"
"""Kafka's jars and our own, installed by `make setup` or the wheel's build."""

STATE = INCLUDE.parent / ".state"
"""The folder for everything that a checkout installs or stores."""
