"""Generate the stack's passwords and keys once, in one file that only its owner may read."""

from __future__ import annotations

import base64
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kafka_pareto.storage.private_file import write_private
from kafka_pareto_embedded.errors import StackError


def _token() -> str:
    return secrets.token_hex(20)


@dataclass(frozen=True, repr=False)
class Credentials:
    """All passwords and keys of the stack; each program gets only those it needs."""

    airflow_admin_user: str = "admin"
    airflow_admin_password: str = field(default_factory=lambda: secrets.token_hex(12))
    airflow_secret_key: str = field(default_factory=_token)
    airflow_jwt_secret: str = field(default_factory=lambda: secrets.token_hex(64))
    airflow_fernet_key: str = field(default_factory=lambda: base64.urlsafe_b64encode(os.urandom(32)).decode())
    minio_root_user: str = "root"
    minio_root_password: str = field(default_factory=_token)
    s3_pareto_access_key: str = "kafka-pareto"
    s3_pareto_secret_key: str = field(default_factory=_token)
    s3_explorer_access_key: str = "kafka-pareto-explorer"
    s3_explorer_secret_key: str = field(default_factory=_token)
    s3_mlflow_access_key: str = "mlflow"
    s3_mlflow_secret_key: str = field(default_factory=_token)
    mlflow_secret_key: str = field(default_factory=_token)
    mlflow_admin_password: str = field(default_factory=lambda: secrets.token_hex(12))
    mlflow_steps_password: str = field(default_factory=_token)
    mlflow_explorer_password: str = field(default_factory=_token)


def read_credentials(path: Path) -> Credentials:
    """Read the file of secrets.

    Raises:
        StackError: If the file cannot be read, or a line is missing.
    """
    try:
        pairs = read_pairs(path)
    except OSError as error:
        raise StackError(
            f"{path}: cannot be read: {error.strerror}; restore the file, or start over with `make clean`"
        ) from error
    try:
        return Credentials(**{name: pairs[name.upper()] for name in Credentials.__dataclass_fields__})
    except KeyError as error:
        raise StackError(
            f"{path}: {error.args[0]} is missing; restore the line, or start over with `make clean`"
        ) from error


def read_pairs(path: Path) -> dict[str, str]:
    """Return the `NAME=value` lines of a file; other lines are comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def write_credentials(path: Path, credentials: Credentials) -> None:
    """Write the file of secrets with mode 600, completely or not at all."""
    lines = [f"{name.upper()}={value}" for name, value in asdict(credentials).items()]
    write_private(
        path, "\n".join(["# Generated at the first start of the embedded stack. Keep it secret.", *lines, ""])
    )
