"""Which clusters the studies name: each of them is tuned apart from the others, at the same time."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from kafka_pareto.study.identifiers import CLUSTER_NAME

log = logging.getLogger(__name__)


def cluster_names(study_files: Iterable[Path]) -> dict[str, str]:
    """The cluster of each study that names one, by the study's name.

    A file that cannot be read names none: who uses the study is told why. The whole schema takes too long to load for
    those who ask.
    """
    named = {file.stem: _name_in(file) for file in study_files}
    return {study: name for study, name in named.items() if name}


def cluster_of(studies: Path, study: str) -> str:
    """The cluster that a study in this folder names; empty: the installation's own."""
    return cluster_names([studies / f"{study}.yaml"]).get(study, "")


def _name_in(file: Path) -> str:
    try:
        name = yaml.safe_load(file.read_text(encoding="utf-8")).get("cluster", {}).get("name", "")
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        log.warning("%s: its cluster is not known, since it cannot be read: %s", file, error)
        return ""
    return name if isinstance(name, str) and re.fullmatch(CLUSTER_NAME, name) else ""
