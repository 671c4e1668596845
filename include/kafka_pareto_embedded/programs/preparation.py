"""Prepare buckets, users and databases of the stack; each part may be repeated."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from kafka_pareto.storage.provision import Login, make_buckets_and_users
from kafka_pareto.tracking.provision import make_mlflow_users
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.programs.programs import airflow_environment, tied_to_parent
from kafka_pareto_embedded.stack.stack import Stack

_MIGRATION_TIMEOUT_S = 180


def prepare_object_store(stack: Stack) -> None:
    """Create missing buckets and users.

    Raises:
        StoreError: If MinIO refuses.
    """
    secret = stack.credentials
    make_buckets_and_users(
        f"{LOOPBACK}:{stack.ports.minio}",
        root=Login(secret.minio_root_user, secret.minio_root_password),
        pareto=Login(secret.s3_pareto_access_key, secret.s3_pareto_secret_key),
        explorer=Login(secret.s3_explorer_access_key, secret.s3_explorer_secret_key),
        mlflow=Login(secret.s3_mlflow_access_key, secret.s3_mlflow_secret_key),
    )


def prepare_mlflow_users(stack: Stack) -> None:
    """Create missing users.

    Raises:
        TrackingError: If MLflow refuses.
    """
    secret = stack.credentials
    make_mlflow_users(
        stack.mlflow_url,
        secret.mlflow_admin_password,
        steps_password=secret.mlflow_steps_password,
        explorer_password=secret.mlflow_explorer_password,
    )


def migrate_database(stack: Stack) -> None:
    """Migrate Airflow's database to the installed version, once per version.

    Raises:
        StackError: If the migration fails or takes too long, or util-linux's setpriv is missing.
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
                tied_to_parent([sys.executable, "-m", "airflow", "db", "migrate"]),
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
    """Remove the leftovers of an interrupted first migration: tables without a version."""
    for path in database.parent.glob(f"{database.name}*"):
        path.unlink()
