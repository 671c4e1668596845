"""The embedded stack's folders, addresses and credentials."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from kafka_pareto.brokers.preparation import cluster_id_in
from kafka_pareto.settings import RUN_BY_AIRFLOW, Settings
from kafka_pareto.storage.private_file import write_private
from kafka_pareto.storage.provision import PARETO_BUCKET
from kafka_pareto.tracking.provision import ADMIN, EXPLORER_USER, STEPS_USER
from kafka_pareto_embedded.bootstrap.ports import LOOPBACK, Ports
from kafka_pareto_embedded.bootstrap.preflight import find_java, state_folder
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.stack.credentials import Credentials, read_credentials

PROJECT = Path(__file__).parents[3]
TOOLS = PROJECT / ".state"  # set-up installs here; stacks with another state folder share it


@dataclass(frozen=True)
class Stack:
    """One embedded stack. Its folder contains the ports of its last start."""

    state: Path
    ports: Ports

    @classmethod
    def load(cls, environment: Mapping[str, str] = os.environ) -> Stack | None:
        """Return the stack of the environment's state folder, with its last ports; None if it was never started."""
        state = state_folder(environment)
        try:
            recorded: dict[str, Any] = json.loads((state / "ports.json").read_text(encoding="utf-8"))
            single: dict[str, Any] = {
                name: tuple(port) if isinstance(port, list) else port for name, port in recorded.items()
            }
            ports = Ports(**single)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise StackError(f"{state / 'ports.json'}: cannot be read; delete it and start the stack again") from error
        return cls(state, ports)

    def record_ports(self) -> None:
        """Write the chosen ports to the file that `load` reads."""
        write_private(self.state / "ports.json", json.dumps(self.ports._asdict()) + "\n")

    def chosen_settings(self) -> dict[str, str]:
        """Return the studies' folder and the receivers of notices, which Airflow reads when it starts, by variable."""
        notify = os.environ.get("KAFKA_PARETO_NOTIFY") or "log"
        return {"KAFKA_PARETO_STUDIES": str(self.settings().studies.resolve()), "KAFKA_PARETO_NOTIFY": notify}

    def record_settings(self) -> None:
        """Write the chosen settings to the file that `recorded_settings` reads."""
        write_private(self._settings_file, json.dumps(self.chosen_settings()) + "\n")

    def recorded_settings(self) -> dict[str, str]:
        """Return the settings chosen at the last start; empty if an earlier version of this program started it."""
        try:
            recorded: dict[str, str] = json.loads(self._settings_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return recorded

    @property
    def _settings_file(self) -> Path:
        return self.state / "settings.json"

    @cached_property
    def credentials(self) -> Credentials:
        """Return the passwords and keys."""
        return read_credentials(self.secrets_file)

    @property
    def secrets_file(self) -> Path:
        """Return the path of the file of secrets."""
        return self.state / "secrets.env"

    @property
    def logs(self) -> Path:
        """Return the folder of the programs' logs."""
        return self.state / "logs"

    @property
    def brokers(self) -> Path:
        """Return the folder of the brokers' data."""
        return self.state / "brokers"

    @property
    def client_configs(self) -> Path:
        """Return the folder of the `client.properties` files of existing clusters."""
        return self.state / "client-configs"

    @property
    def load_credentials(self) -> Path:
        """Return the load machines' key: the environment's, or the stack's own."""
        named = os.environ.get("KAFKA_PARETO_LOAD_CREDENTIALS")
        return Path(named).absolute() if named else self.state / "load-machines.pem"

    @property
    def reports(self) -> Path:
        """Return the folder for the reports that `run` downloads."""
        return self.state / "reports"

    @property
    def airflow_url(self) -> str:
        """Return the address of Airflow's API server and pages."""
        return f"http://{LOOPBACK}:{self.ports.airflow}"

    @property
    def mlflow_url(self) -> str:
        """Return the address of MLflow's server."""
        return f"http://{LOOPBACK}:{self.ports.mlflow}"

    @property
    def logins(self) -> str:
        """Return a line with the logins and the file of their passwords."""
        airflow, file = self.credentials.airflow_admin_user, self.secrets_file
        passwords = "AIRFLOW_ADMIN_PASSWORD and MLFLOW_ADMIN_PASSWORD"
        return f"Airflow user {airflow}, MLflow user {ADMIN}; passwords {passwords} in {file}"

    @property
    def s3_url(self) -> str:
        """Return the address of the object store."""
        return f"http://{LOOPBACK}:{self.ports.minio}"

    @property
    def bootstrap_servers(self) -> str:
        """Return the brokers' addresses, separated by commas."""
        return ",".join(f"{LOOPBACK}:{port}" for port in self.ports.kafka)

    @property
    def kafka_jars(self) -> Path:
        """Return the folder of Kafka's jars."""
        return TOOLS / "kafka" / "jars"

    @property
    def java(self) -> str:
        """Return the Java found at the start.

        Raises:
            StackError: If there is none.
        """
        java = find_java(os.environ)
        if java is None:
            raise StackError("java is not on the PATH; install Java 17 or newer")
        return java

    @property
    def minio(self) -> str:
        """Return the MinIO server's binary.

        Raises:
            StackError: If there is none.
        """
        minio = shutil.which("minio") or shutil.which(str(TOOLS / "bin" / "minio"))
        if minio is None:
            raise StackError("minio is neither on the PATH nor built; run `make setup`")
        return minio

    def settings(self) -> Settings:
        """Return the library's settings for this stack, which steps get and which open its store.

        Paths are absolute, since the stack's processes have working directories of their own.
        """
        settings = Settings(
            # Those of the environment are for other stores.
            store_folder=None,
            s3_region="us-east-1",
            s3_endpoint=self.s3_url,
            s3_access_key=self.credentials.s3_pareto_access_key,
            s3_secret_key=SecretStr(self.credentials.s3_pareto_secret_key),
            s3_bucket=PARETO_BUCKET,
            mlflow_tracking_uri=self.mlflow_url,
            mlflow_username=STEPS_USER,
            mlflow_password=SecretStr(self.credentials.mlflow_steps_password),
            bootstrap_servers=self.bootstrap_servers,
            own_cluster_id=cluster_id_in(self.brokers),
            java=self.java,
            kafka_jars=self.kafka_jars,
            client_configs=self.client_configs,
            load_machines=os.environ.get("KAFKA_PARETO_LOAD_MACHINES") or RUN_BY_AIRFLOW,
            load_credentials=self.load_credentials,
        )
        return settings.model_copy(
            update={name: value.absolute() for name, value in settings if isinstance(value, Path)}
        )

    def step_environment(self) -> dict[str, str]:
        """Return `settings()` as the `KAFKA_PARETO_…` variables of a step's process."""
        return _variables(self.settings().model_dump(exclude_none=True))

    def explorer_environment(self) -> dict[str, str]:
        """Return the environment of Airflow's API server.

        The explorer reads the store, MLflow and the brokers. Stopping a campaign removes its client configuration.
        """
        logins = {
            "s3_access_key": self.credentials.s3_explorer_access_key,
            "s3_secret_key": self.credentials.s3_explorer_secret_key,
            "mlflow_username": EXPLORER_USER,
            "mlflow_password": self.credentials.mlflow_explorer_password,
        }
        return _variables(self.settings().model_dump(exclude_none=True, exclude={"own_cluster_id"}) | logins)


def _variables(settings: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"KAFKA_PARETO_{name.upper()}": value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        for name, value in settings.items()
    }
