"""Prepare Airflow before its first use: tables, users with roles, and a pool for each Kafka cluster."""

from __future__ import annotations

import os
import subprocess
import sys

from kafka_pareto.errors import KafkaParetoError
from kafka_pareto.settings import load_settings
from kafka_pareto.study.cluster_names import cluster_names
from kafka_pareto.study.identifiers import pool_of
from kafka_pareto_containers.environment import required, run

# The FAB role of each login, with its permissions. `User` may trigger, `Viewer` may only read.
ROLES = {"viewer": "Viewer", "operator": "User", "admin": "Admin"}
_PASSWORD_OF = {login: f"AIRFLOW_{login.upper()}_PASSWORD" for login in ROLES}
_MIGRATION_TIMEOUT_S = 600


class AirflowError(KafkaParetoError):
    """Airflow could not be prepared."""


def main() -> None:
    """Migrate the database, then add missing users and pools."""
    passwords = {login: required(name) for login, name in _PASSWORD_OF.items()}
    migrate()
    add_users(passwords)
    make_pools()


def migrate() -> None:
    """Migrate the tables of Airflow and of its user management to the installed version.

    Raises:
        AirflowError: If the migration fails or takes too long.
    """
    passwords = set(_PASSWORD_OF.values())
    try:
        done = subprocess.run(
            [sys.executable, "-m", "airflow", "db", "migrate"],
            env={name: value for name, value in os.environ.items() if name not in passwords},
            stdin=subprocess.DEVNULL,
            timeout=_MIGRATION_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AirflowError(
            f"Airflow did not prepare its database within {_MIGRATION_TIMEOUT_S} s; "
            "check that Postgres answers and that no other process locks its tables, then start the stack again"
        ) from error
    if done.returncode != 0:
        raise AirflowError("Airflow could not prepare its database; its output is above")


def add_users(passwords: dict[str, str]) -> None:
    """Add each login that does not exist yet; an existing one keeps its password and its roles.

    Raises:
        AirflowError: If a user cannot be added.
    """
    # Airflow's modules read the database on import, so it must be migrated first.
    from airflow.providers.fab.auth_manager.cli_commands.utils import get_application_builder  # noqa: PLC0415

    with get_application_builder() as builder:
        manager = builder.sm
        for login, password in passwords.items():
            if manager.find_user(login) is None:
                role = manager.find_role(ROLES[login])
                address = f"{login}@kafka-pareto.invalid"  # FAB requires a unique one
                if not manager.add_user(login, login.capitalize(), "kafka-pareto", address, role, password):
                    raise AirflowError(f"Airflow could not add the user {login}; its output is above")


def make_pools() -> None:
    """Create the pools that allow one load at a time on each cluster: the stack's and those of studies."""
    from airflow.models.pool import Pool  # noqa: PLC0415

    clusters = cluster_names(sorted(load_settings().studies.glob("*.yaml"))).values()
    for name in dict.fromkeys(["", *clusters]):
        Pool.create_or_update_pool(pool_of(name), 1, "One load at a time on a Kafka cluster.", include_deferred=False)


if __name__ == "__main__":
    run(main, "Airflow's tables, users and pools are ready.")
