"""Airflow's database: prepared at the first start, and after an upgrade."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.programs.programs import airflow_environment
from kafka_pareto_embedded.stack.stack import Stack

_MIGRATION_TIMEOUT_S = 180


def migrate_database(stack: Stack) -> None:
    """Brings the database to the installed version, once for each version.

    Raises:
        StackError: If Airflow cannot.
    """
    database = stack.state / "airflow" / "airflow.db"
    migrated = database.with_name("migrated-to")
    version = importlib.metadata.version("apache-airflow-core")
    if migrated.exists() and migrated.read_text(encoding="utf-8") == version:
        return
    if not migrated.exists():
        _remove_half_made(database)
    log = stack.logs / "airflow-db-migrate.log"
    try:
        with log.open("wb") as output:
            done = subprocess.run(
                [sys.executable, "-m", "airflow", "db", "migrate"],
                env=airflow_environment(stack),
                cwd=database.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_MIGRATION_TIMEOUT_S,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise StackError(
            f"Airflow did not prepare its database {database} within {_MIGRATION_TIMEOUT_S} s; see {log}"
        ) from error
    if done.returncode != 0:
        raise StackError(f"Airflow could not prepare its database {database}; see {log}")
    migrated.write_text(version, encoding="utf-8")


def _remove_half_made(database: Path) -> None:
    """A first migration that was cut short leaves tables without a version; begin anew."""
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink()
