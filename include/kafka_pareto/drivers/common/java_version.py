"""Find the version of a Java installation."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache

from kafka_pareto.errors import LoadStartError

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_TIMEOUT_S = 30.0


@cache
def java_version(java: str) -> int:
    """Return its feature version, such as 17.

    Raises:
        LoadStartError: If it does not start or prints no version.
    """
    try:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True, env=environment
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise LoadStartError(f"{java}: does not say its version: {error}") from error
    found = _VERSION.search(said)
    if found is None:
        raise LoadStartError(f"{java}: does not say its version: {said[:100]!r}")
    return int(found[1])
