"""The tests' own Airflow: its home is a temporary folder, named before any test's module imports Airflow."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parent.parent
_HOME = tempfile.TemporaryDirectory(prefix="kafka-pareto-airflow-")

AIRFLOW_ENVIRONMENT = {
    "AIRFLOW_HOME": _HOME.name,
    "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "plugins"),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    "SCARF_ANALYTICS": "false",
    "DO_NOT_TRACK": "true",
}
os.environ.update(AIRFLOW_ENVIRONMENT)


def pytest_unconfigure() -> None:
    """Takes the folder away."""
    _HOME.cleanup()
