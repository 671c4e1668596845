"""A real MLflow server with SQLite and a folder of artifacts: one that asks for a login, as both stacks start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.tracking.provision import ADMIN, EXPLORER_USER, STEPS_USER, make_mlflow_users

LOGIN = Path(__file__).parent.parent / "mlflow" / "login.sqlite.ini"
PASSWORDS = {ADMIN: "the-administrators", STEPS_USER: "that-of-the-steps", EXPLORER_USER: "the-explorers-own"}


@dataclass(frozen=True)
class MlflowServer:
    """One server and its users."""

    address: str
    process_group: int

    def kill(self) -> None:
        """Kills it as a machine that fails does."""
        os.killpg(self.process_group, signal.SIGKILL)

    def provide(self, passwords: dict[str, str] = PASSWORDS) -> None:
        """Makes the users, as a stack does when it comes up."""
        make_mlflow_users(
            self.address,
            passwords[ADMIN],
            steps_password=passwords[STEPS_USER],
            explorer_password=passwords[EXPLORER_USER],
        )

    def ask(self, method: str, path: str, user: str | None = None, **more: object) -> httpx.Response:
        """Sends a request with this user's login, or with none."""
        login = None if user is None else (user, PASSWORDS[user])
        with httpx.Client(base_url=self.address, auth=login, timeout=30, trust_env=False) as client:
            return client.request(method, path, **more)  # type: ignore[arg-type]  # of httpx' many

    def configure(self, patch: pytest.MonkeyPatch, user: str = STEPS_USER) -> None:
        """Sets what a step is given; what it hands to MLflow's client is taken back with it."""
        patch.setenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", self.address)
        patch.setenv("KAFKA_PARETO_MLFLOW_USERNAME", user)
        patch.setenv("KAFKA_PARETO_MLFLOW_PASSWORD", PASSWORDS[user])
        patch.setenv("MLFLOW_TRACKING_USERNAME", user)
        patch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORDS[user])


@retry(stop=stop_after_delay(120), wait=wait_fixed(0.3), retry=retry_if_exception_type(httpx.HTTPError), reraise=True)
def _wait_until_healthy(address: str) -> None:
    httpx.get(f"{address}/health", timeout=5, trust_env=False).raise_for_status()


@contextmanager
def mlflow_server(folder: Path, *, asks_for_a_login: bool = True) -> Iterator[MlflowServer]:
    """A server on a folder, which another may have used before; it is gone afterwards."""
    port = free_ports(1)[0]
    argv = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    argv += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--artifacts-destination", str(folder / "a")]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    if asks_for_a_login:
        argv += ["--app-name", "basic-auth"]
        environment["MLFLOW_AUTH_CONFIG_PATH"] = str(LOGIN)
        environment["MLFLOW_AUTH_ADMIN_PASSWORD"] = PASSWORDS[ADMIN]
        environment["MLFLOW_FLASK_SERVER_SECRET_KEY"] = "of-this-test"  # noqa: S105
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            argv, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    server = MlflowServer(f"http://127.0.0.1:{port}", process.pid)
    try:
        _wait_until_healthy(server.address)
        if asks_for_a_login:
            server.provide()
        yield server
    finally:
        server.kill()
        process.wait()
