"""Find the project's folder, which holds the DAGs' steps and studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PROJECT_ROOT_VARIABLE = "KAFKA_PARETO_PROJECT_ROOT"


def project_root(environment: Mapping[str, str]) -> Path:
    """Return the folder of `tasks` and `include`: this checkout, unless the environment names another."""
    return Path(environment.get(PROJECT_ROOT_VARIABLE) or Path(__file__).parent.parent.parent)
