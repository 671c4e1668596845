"""The versions of a client: the bundled one, or a folder with its jars or its shared library."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.study.workload import BUNDLED, ProducerLoad

Load: TypeAlias = ProducerLoad | LoadRequest

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_LIBRARY = "librdkafka[-.]*so*"


@dataclass(frozen=True)
class InstalledClient:
    """The place of a client's version: the folder of its jars, or librdkafka's library; neither for bundled jars."""

    jars: Path | None = None
    librdkafka: Path | None = None


def installed(load: Load, settings: Settings) -> InstalledClient:
    """Return where the version of a load's client is.

    Raises:
        BadInputError: If the name is invalid, the folder does not have the client, or others may write there.
    """
    version = load.client_version
    if version == BUNDLED:
        return InstalledClient() if load.client == "java" else InstalledClient(librdkafka=_bundled_library())
    place = f"client: {version}"
    if not _NAME.fullmatch(version):
        raise BadInputError(
            f"{place}: must be {BUNDLED} or a folder name of lower-case letters, digits, '.', '-' and '_'"
        )
    folder = settings.client_jars / version
    files, client = _jars(folder, place) if load.client == "java" else _library(folder, place)
    if others := [str(each) for each in (settings.client_jars, folder, *files) if _others_may_write(each)]:
        raise BadInputError(
            f"{place}: {others[0]}: must belong to you or root and not be writable by others; use chown or chmod go-w"
        )
    return client


def _jars(folder: Path, place: str) -> tuple[list[Path], InstalledClient]:
    jars = sorted(jar for jar in folder.glob("*.jar") if jar.is_file())
    if not any(jar.name.startswith("kafka-clients") for jar in jars):
        raise BadInputError(f"{place}: {folder} has no kafka-clients jar; how to get one: docs/comparisons.md")
    return jars, InstalledClient(jars=folder)


def _library(folder: Path, place: str) -> tuple[list[Path], InstalledClient]:
    libraries = list(folder.glob(_LIBRARY))
    if len(libraries) != 1:
        raise BadInputError(f"{place}: {folder} must have one librdkafka.so; how to get one: docs/librdkafka.md")
    return libraries, InstalledClient(librdkafka=libraries[0])


def _bundled_library() -> Path:
    """Return the library inside the Python client's wheel."""
    spec = find_spec("confluent_kafka")
    if spec is not None and spec.origin is not None:
        found = list(Path(spec.origin).parent.with_name("confluent_kafka.libs").glob(_LIBRARY))
        if len(found) == 1:
            return found[0]
    raise BadInputError(
        "client: librdkafka was not found; install confluent-kafka from its wheel: pip install --only-binary :all: "
        "confluent-kafka"
    )


def _others_may_write(path: Path) -> bool:
    found = path.stat()
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def fault_of(load: Load, settings: Settings) -> str:
    """Return why this machine cannot send the load with its client; empty if it can."""
    try:
        installed(load, settings)
    except BadInputError as error:
        return str(error)
    return ""
