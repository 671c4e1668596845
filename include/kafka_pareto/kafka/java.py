"""Define options and environment of Kafka's Java programs."""

from __future__ import annotations

import os

QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.language=en")
"""Options of a small JVM that starts quickly."""


def java_environment() -> dict[str, str]:
    """Return the environment of Kafka's programs, independent of the user's locale."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {**kept, "LC_ALL": "C"}
