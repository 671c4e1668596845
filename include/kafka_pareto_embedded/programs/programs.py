"""Define the programs of the embedded stack: their command lines and environments."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafka_pareto.brokers.jvm import broker_argv
from kafka_pareto.brokers.preparation import prepare_nodes
from kafka_pareto.kafka.java import java_environment
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.storage.provision import MLFLOW_BUCKET
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.stack.credentials import read_pairs
from kafka_pareto_embedded.stack.stack import PROJECT, Stack

# Set by users: the receivers of notices, and the Airflow connections for notices.
_PASSED_ON = ("KAFKA_PARETO_NOTIFY", "AIRFLOW_CONN_")
_STEP_LIMITS = {"OMP_NUM_THREADS": "2", "MPLBACKEND": "Agg"}
_AIRFLOW_PARTS = {
    "api-server": ["airflow", "api-server"],
    "scheduler": ["kafka_pareto_embedded.programs.scheduler", "scheduler", "--skip-serve-logs"],
    "dag-processor": ["airflow", "dag-processor"],
    "triggerer": ["airflow", "triggerer", "--skip-serve-logs"],
}


@dataclass(frozen=True)
class Program:
    """One supervised process.

    Attributes:
        group: The group; groups are stopped in reverse order of their start.
        environment: The whole environment of the process.
        stop_timeout_s: Time from TERM to KILL.
    """

    name: str
    group: str
    argv: list[str]
    directory: Path
    environment: dict[str, str] = field(repr=False)
    stop_timeout_s: int = 10


def prepare_programs(stack: Stack) -> list[Program]:
    """Return all programs of the stack in start order; write their files.

    Raises:
        KafkaParetoError: If a tool is missing or the brokers' storage cannot be prepared.
    """
    passwords = {stack.credentials.airflow_admin_user: stack.credentials.airflow_admin_password}
    write_private(_passwords_file(stack), json.dumps(passwords) + "\n")
    return [_minio(stack), *_brokers(stack), _mlflow(stack), *_airflow(stack)]


def airflow_environment(stack: Stack) -> dict[str, str]:
    """Return the environment of every part of Airflow and of its command line, without the steps' variables."""
    home = stack.state / "airflow"
    secret = stack.credentials
    passed_on = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON) and value}
    return {
        **base_environment(stack),
        **read_pairs(PROJECT / "include" / "airflow.env"),
        **passed_on,
        "KAFKA_PARETO_STUDIES": str(stack.settings().studies),
        "PYTHONPATH": f"{PROJECT}:{PROJECT / 'include'}",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "plugins"),
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        # `run` has the DAG parsed again for a new study; the result must be used immediately.
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "1",
        "AIRFLOW__CORE__FERNET_KEY": secret.airflow_fernet_key,
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{secret.airflow_admin_user}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(_passwords_file(stack)),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{stack.airflow_url}/execution/",
        # SQLite has one writer at a time; the others wait instead of failing.
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}?timeout=30",
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(stack.ports.airflow),
        "AIRFLOW__API__BASE_URL": stack.airflow_url,
        "AIRFLOW__API__SECRET_KEY": secret.airflow_secret_key,
        "AIRFLOW__API_AUTH__JWT_SECRET": secret.airflow_jwt_secret,
    }


def clean_up_environment(airflow: Mapping[str, str]) -> dict[str, str]:
    """Return the variable for the DAG `clean_up`; Airflow hides its database from tasks."""
    return {"AIRFLOW_DATABASE_TO_CLEAN": airflow["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]}


def _minio(stack: Stack) -> Program:
    environment = {
        **base_environment(stack),
        "MINIO_ROOT_USER": stack.credentials.minio_root_user,
        "MINIO_ROOT_PASSWORD": stack.credentials.minio_root_password,
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
    }
    address = f"{LOOPBACK}:{stack.ports.minio}"
    data = stack.state / "minio"
    argv = [stack.minio, "server", "--quiet", "--address", address, str(data)]
    return Program("minio", "servers", argv, data, environment)


def _brokers(stack: Stack) -> list[Program]:
    ports = list(zip(stack.ports.kafka, stack.ports.controllers, strict=True))
    nodes = prepare_nodes(stack.brokers, stack.kafka_jars, stack.java, ports)
    # Programs of this stack are identified by their home (`Supervisor.end_leftovers`).
    environment = {**java_environment(), "HOME": base_environment(stack)["HOME"]}
    return [
        Program(node.name, "servers", broker_argv(node, stack.kafka_jars, stack.java), node.folder, environment)
        for node in nodes
    ]


def _mlflow(stack: Stack) -> Program:
    folder = stack.state / "mlflow"
    port = stack.ports.mlflow
    environment = {
        **base_environment(stack),
        **read_pairs(PROJECT / "mlflow" / "server.env"),
        "PYTHONPATH": str(PROJECT / "include"),
        "MLFLOW_S3_ENDPOINT_URL": stack.s3_url,
        "AWS_ACCESS_KEY_ID": stack.credentials.s3_mlflow_access_key,
        "AWS_SECRET_ACCESS_KEY": stack.credentials.s3_mlflow_secret_key,
        "MLFLOW_AUTH_CONFIG_PATH": str(PROJECT / "mlflow" / "login.sqlite.ini"),
        "MLFLOW_AUTH_ADMIN_PASSWORD": stack.credentials.mlflow_admin_password,
        "MLFLOW_FLASK_SERVER_SECRET_KEY": stack.credentials.mlflow_secret_key,
    }
    argv = [sys.executable, "-m", "kafka_pareto_embedded.programs.mlflow_server", "server"]
    argv += ["--host", LOOPBACK, "--port", str(port), "--workers", "1", "--app-name", "basic-auth"]
    argv += ["--allowed-hosts", f"{LOOPBACK}:{port},localhost:{port}"]
    argv += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    argv += ["--artifacts-destination", f"s3://{MLFLOW_BUCKET}"]
    return Program("mlflow", "servers", argv, folder, environment)


def _airflow(stack: Stack) -> list[Program]:
    common = airflow_environment(stack)
    # Tasks are children of the scheduler, so only it gets the steps' variables. The explorer has read access only.
    environments = {
        "scheduler": {**common, **_STEP_LIMITS, **stack.step_environment(), **clean_up_environment(common)},
        "api-server": {**common, **stack.explorer_environment()},
    }
    return [
        Program(
            name=f"airflow-{part}",
            group="airflow",
            argv=[sys.executable, "-m", *module],
            directory=stack.state / "airflow",
            environment=environments.get(part, common),
            stop_timeout_s=20,
        )
        for part, module in _AIRFLOW_PARTS.items()
    ]


def base_environment(stack: Stack) -> dict[str, str]:
    """Return the environment of every process of the stack and the process manager; it contains no secrets."""
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "TZ") if os.environ.get(name)}
    binaries = Path(sys.executable).parent
    return {
        **kept,
        "PATH": f"{binaries}:{os.environ.get('PATH', os.defpath)}",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        # Files that programs write to their home or temporary folder stay in the state folder.
        "HOME": str(stack.state / "home"),
        "TMPDIR": str(stack.state / "tmp"),
        "PYTHONUNBUFFERED": "1",
    }


def _passwords_file(stack: Stack) -> Path:
    return stack.state / "airflow" / "passwords.json"


def tied_to_parent(argv: list[str]) -> list[str]:
    """Return a command line whose process gets TERM when its parent ends, even by `kill -9`.

    Raises:
        StackError: If util-linux's setpriv is missing.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise StackError(
            "setpriv is not on the PATH; install util-linux, which ends programs together with their stack"
        )
    return [setpriv, "--pdeathsig", "TERM", "--", *argv]
