"""Define options and environment of Kafka's Java programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from kafka_pareto.errors import BadInputError

QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.language=en")
"""Options of a small JVM that starts quickly."""


def require_java(java: str) -> None:
    """Check that the command exists.

    Raises:
        BadInputError: If it does not.
    """
    if shutil.which(java) is None:
        raise BadInputError(f"command not found: {java}; install Java 17 or newer")


def cds_archive(jars: Path, program: str) -> Path:
    """Return the place of a program's CDS archive, the classes it loads at its start."""
    return jars.absolute().parent / f"{program}.jsa"


def cds_options(jars: Path, program: str) -> list[str]:
    """Return the JVM options that load a program's classes from its CDS archive, if there is one.

    The JVM silently ignores an archive of another Java or of other jars, and crashes on a truncated one.
    """
    archive = cds_archive(jars, program)
    return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off"] if archive.is_file() else []


def tethered(argv: Sequence[str]) -> list[str]:
    """Wrap a command to be killed with the thread that starts it, where util-linux's setpriv is available."""
    return ["setpriv", "--pdeathsig", "KILL", *argv] if shutil.which("setpriv") else list(argv)


def java_environment() -> dict[str, str]:
    """Return the environment of Kafka's programs, independent of the user's locale."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C"}
