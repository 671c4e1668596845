"""Prepare Postgres before its first use: for each application a database and a role limited to it."""

from __future__ import annotations

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import cursor

from kafka_pareto.errors import KafkaParetoError

_CONNECT_TIMEOUT_S = 10


class DatabaseError(KafkaParetoError):
    """Postgres refused, or cannot be reached."""


def make_databases(host: str, superuser_password: str, passwords: dict[str, str]) -> None:
    """Create missing roles and databases; set every role's password again.

    Args:
        host: Postgres' host; the superuser is `postgres`.
        superuser_password: The password of `postgres`.
        passwords: The password of each role, by the name of the role and its database.

    Raises:
        DatabaseError: If Postgres refuses, or does not answer.
    """
    try:
        connection = psycopg2.connect(
            host=host, user="postgres", password=superuser_password, connect_timeout=_CONNECT_TIMEOUT_S
        )
    except psycopg2.Error as error:
        raise DatabaseError(
            f"Postgres at {host} refused the login of postgres, or did not answer: {str(error).strip()}; it keeps the "
            "POSTGRES_PASSWORD of its first start: restore that in .env, or change it with ALTER ROLE"
        ) from error
    try:
        connection.autocommit = True  # a database cannot be created within a transaction
        with connection.cursor() as asking:
            for name, password in passwords.items():
                _make_role(asking, name, password)
                _make_database(asking, name)
            for name in ["postgres", "template1", *passwords]:
                _close_to_others(asking, name)
        connection.close()
    except psycopg2.Error as error:
        raise DatabaseError(f"Postgres at {host} refused to create roles or databases: {str(error).strip()}") from error


def _make_role(asking: cursor, name: str, password: str) -> None:
    asking.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,))
    verb = sql.SQL("ALTER" if asking.fetchone() else "CREATE")
    statement = sql.SQL("{} ROLE {} LOGIN PASSWORD {}")
    asking.execute(statement.format(verb, sql.Identifier(name), sql.Literal(password)))


def _make_database(asking: cursor, name: str) -> None:
    asking.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
    if asking.fetchone() is None:
        asking.execute(sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name)))


def _close_to_others(asking: cursor, name: str) -> None:
    """Restrict a database to its owner and the superuser; by default every role may connect."""
    asking.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
