"""Other versions of Kafka's Java client, by the folder with their jars."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.workload import BUNDLED

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def jars_of(client: str, settings: Settings) -> Path | None:
    """Return the folder of a client's jars; None for the bundled client.

    Raises:
        BadInputError: If the name is invalid, the folder has no kafka-clients jar, or others may write there.
    """
    if client == BUNDLED:
        return None
    place = f"client: {client}"
    if not _NAME.fullmatch(client):
        raise BadInputError(
            f"{place}: must be {BUNDLED} or a folder name of lower-case letters, digits, '.', '-' and '_'"
        )
    folder = settings.client_jars / client
    jars = sorted(jar for jar in folder.glob("*.jar") if jar.is_file())
    if not any(jar.name.startswith("kafka-clients") for jar in jars):
        raise BadInputError(f"{place}: {folder} has no kafka-clients jar; how to get one: docs/comparisons.md")
    if others := [str(each) for each in (settings.client_jars, folder, *jars) if _others_may_write(each)]:
        raise BadInputError(
            f"{place}: {others[0]}: must belong to you or root and not be writable by others; use chown or chmod go-w"
        )
    return folder


def _others_may_write(path: Path) -> bool:
    found = path.stat()
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def fault_of(client: str, settings: Settings) -> str:
    """Return why this machine cannot run the client; empty if it can."""
    try:
        jars_of(client, settings)
    except BadInputError as error:
        return str(error)
    return ""
