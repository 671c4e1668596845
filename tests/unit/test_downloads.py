"""Builds may fetch only with the check that docs/third-party.md names."""

from __future__ import annotations

import re
import subprocess
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
    """Return the matching commands of all build files, continued lines as one."""
    lines = [line for file in BUILDS for line in re.sub(r"\\\n\s*", " ", file.read_text()).splitlines()]
    return [line.strip() for line in lines if re.search(pattern, line) and not line.lstrip().startswith("#")]


@pytest.mark.parametrize(
    ("fetches", "checks"),
    [
        (r"\bmvn -", "--strict-checksums"),
        (r"\bpip (sync|install .*-r) ", "--require-hashes"),
        (r"\buv tool run |\(UV\) tool run |\(UV\) pip install ", "--exclude-newer"),
        (r"\bnpm (--prefix \S+ )?(ci|install)\b", " ci "),
    ],
)
def test_downloads_are_checked(fetches: str, checks: str) -> None:
    found = commands(fetches)
    assert found
    assert [command for command in found if checks not in command] == []


def test_every_lock_is_audited() -> None:
    locks = {
        str(lock.relative_to(ROOT))
        for folder in ("", "benchmarks/", "include/**/")
        for lock in ROOT.glob(f"{folder}*.txt")
    }
    locks = {lock for lock in locks if "--hash=sha256:" in (ROOT / lock).read_text()}
    argv = ["make", "-n", "advisories"]
    printed = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert set(re.findall(r" -r (\S+\.txt)", printed.stdout.partition("pip-audit --strict")[2])) == locks


def test_an_accepted_advisory_ends() -> None:
    accepted = "# PYSEC-0 until 2027-01-01 x: a comment\n\nPYSEC-1 until 2026-12-31 a: why\nPYSEC-2 b: no day\n"

    def options(today: str) -> str:
        command = ["awk", "-v", f"today={today}", "-f", str(ROOT / ".ci" / "accepted.awk")]
        return subprocess.run(command, input=accepted, capture_output=True, text=True, timeout=60, check=True).stdout

    assert options("2026-12-31") == "--ignore-vuln PYSEC-1\n"
    assert options("2027-01-01") == ""
