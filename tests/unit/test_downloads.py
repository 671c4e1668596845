"""Looks for builds that fetch without the check that docs/third-party.md names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
BUILDS = [
    ROOT / "Makefile",
    *ROOT.glob("include/**/Dockerfile"),
    ROOT / "mlflow" / "Dockerfile",
    ROOT / "tasks" / "Dockerfile",
]


def commands(pattern: str) -> list[str]:
    """Returns the commands in which it is found, continued lines as one, of all files that build something."""
    lines = [line for file in BUILDS for line in re.sub(r"\\\n\s*", " ", file.read_text()).splitlines()]
    return [line.strip() for line in lines if re.search(pattern, line) and not line.lstrip().startswith("#")]


@pytest.mark.parametrize(
    ("fetches", "checks"),
    [
        (r"\bmvn -", "--strict-checksums"),
        (r"\bpip (sync|install .*-r) ", "--require-hashes"),
        (r"\bnpm (--prefix \S+ )?(ci|install)\b", " ci "),
    ],
)
def test_what_is_fetched_is_checked(fetches: str, checks: str) -> None:
    found = commands(fetches)
    assert found
    assert [command for command in found if checks not in command] == []
