"""Kinds, clusters and brokers named in study files, read without the schema."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.identifiers import CLUSTER_NAME

log = logging.getLogger(__name__)

# PyYAML's constructors also raise these if an explicit tag or a date does not fit its value.
YAML_ERRORS = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)


def cluster_names(study_files: Iterable[Path]) -> dict[str, str]:
    """Map each study with a named cluster to that cluster, skipping unreadable files."""
    named = {file.stem: (_cluster_in(file) or {}).get("name") for file in study_files}
    return {study: name for study, name in named.items() if isinstance(name, str) and re.fullmatch(CLUSTER_NAME, name)}


def kind_of(study_file: Path) -> str:
    """Return the kind in a study file; `tune` if absent or unreadable."""
    kind = (_content(study_file) or {}).get("kind", "tune")
    return kind if isinstance(kind, str) else "tune"


def has_load_machines(study_file: Path) -> bool:
    """Return whether a study file asks for load machines; False if unreadable."""
    with suppress(OSError, UnicodeDecodeError):
        if "load_machines" not in study_file.read_text(encoding="utf-8"):
            return False  # for which the file need not be parsed: DAGs are read all the time
    protocol = (_content(study_file) or {}).get("protocol")
    return isinstance(protocol, dict) and bool(protocol.get("load_machines"))


def cluster_of(studies: Path, study: str) -> str:
    """Return the cluster named in a study of this folder; empty for the installation's own."""
    return cluster_names([studies / f"{study}.yaml"]).get(study, "")


def servers_of(client_config: str, study_files: Iterable[Path]) -> set[str]:
    """Return the brokers (`host:port`) that studies name with this client configuration.

    Raises BadInputError if none names any and one is unreadable, since that may be the one.
    """
    files = list(study_files)
    clusters = [_cluster_in(file) for file in files]
    named = [each.get("bootstrap_servers") for each in clusters if each and each.get("client_config") == client_config]
    unreadable = [file.name for file, cluster in zip(files, clusters, strict=True) if cluster is None]
    if unreadable and not named:
        raise BadInputError(
            f"client_config: {client_config}: {', '.join(unreadable)}: cannot be read, and may name the brokers these "
            "credentials are for; fix the file first"
        )
    return {server for servers in named for server in server_set(str(servers))}


def server_set(bootstrap_servers: str) -> set[str]:
    """Return the brokers of a list like `host:port,host:port`."""
    return {server.strip().lower() for server in bootstrap_servers.split(",") if server.strip()}


def _cluster_in(file: Path) -> dict[str, Any] | None:
    """Return the study's section; empty if absent, None if the file is unreadable."""
    content = _content(file)
    cluster = content and content.get("cluster")
    return cluster if isinstance(cluster, dict) or content is None else {}


def _content(file: Path) -> dict[str, Any] | None:
    """Return the keys of a study file; None if unreadable."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        return dict(content.items())
    except (OSError, *YAML_ERRORS) as error:
        log.warning("%s: cannot be read, so its kind and cluster are unknown: %s", file, error)
        return None
