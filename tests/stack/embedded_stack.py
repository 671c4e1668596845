"""An embedded stack for tests: its own state folder, free ports, driven by the command line as `make` does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.tracking.provision import STEPS_USER
from kafka_pareto_embedded.bootstrap.ports import VARIABLES
from kafka_pareto_embedded.lifecycle.supervision import Supervisor
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.as_typed import PREFIX

ROOT = Path(__file__).parent.parent.parent
CAMPAIGN_BEGINS = re.compile(r"^Campaign (\S+) of study ", re.MULTILINE)
_KEPT = ("PATH", "HOME", "JAVA_HOME", "KAFKA_PARETO_JAVA", "KAFKA_PARETO_STUDIES")


@dataclass(frozen=True)
class Finished:
    """A campaign that ran to its end, and what the command said."""

    campaign: Campaign
    said: str


class EmbeddedStack:
    """One stack and the commands on it. `output` is what its first `up` said."""

    def __init__(self, state: Path, project: Path = ROOT) -> None:
        airflow, mlflow, minio, *kafka = free_ports(9)
        chosen = {"airflow": airflow, "mlflow": mlflow, "minio": minio}
        self.state = state
        self.project = project
        self.output = ""
        self._begun: list[subprocess.Popen[str]] = []
        self.environment = {
            **{name: os.environ[name] for name in _KEPT if name in os.environ},
            "PYTHONPATH": f"{project / 'include'}:{project}",
            "KAFKA_PARETO_STATE": str(state),
            **{VARIABLES[server]: str(port) for server, port in chosen.items()},
            VARIABLES["kafka"]: ",".join(map(str, kafka[:3])),
            VARIABLES["controllers"]: ",".join(map(str, kafka[3:])),
        }

    @property
    def stack(self) -> Stack:
        """Addresses and credentials, as the command line's helpers see them."""
        stack = Stack.load(self.environment)
        assert stack is not None, "the stack has never been started"
        return stack

    @property
    def supervisor(self) -> Supervisor:
        return Supervisor(self.state)

    def mlflow_environment(self) -> dict[str, str]:
        """Returns what MLflow's client reads, with the login of the steps."""
        return {
            "MLFLOW_TRACKING_URI": self.stack.mlflow_url,
            "MLFLOW_TRACKING_USERNAME": STEPS_USER,
            "MLFLOW_TRACKING_PASSWORD": self.stack.credentials.mlflow_steps_password,
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }

    def begin(self, command: str, **options: str) -> subprocess.Popen[str]:
        """Starts `python -m kafka_pareto_cli …` with options as `make` passes them, and returns immediately."""
        process = subprocess.Popen(
            [sys.executable, "-m", "kafka_pareto_cli", command],
            cwd=self.project,
            env={**self.environment, **{f"{PREFIX}{name}": value for name, value in options.items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._begun.append(process)
        return process

    def command(self, command: str, *, timeout_s: float = 300, **options: str) -> tuple[int, str]:
        """Runs a command to its end; its exit code and all that it said."""
        process = self.begin(command, **options)
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, said

    def end(self) -> None:
        """Leaves nothing: neither a command that was begun nor a program, not even of a killed process manager."""
        for process in self._begun:
            process.kill()
            process.wait()
        self.supervisor.shut_down()
        self.supervisor.end_leftovers()

    def pids(self) -> dict[str, int]:
        """The pid of every program that runs."""
        return {process.name: process.pid for process in self.supervisor.processes() if process.pid}

    def family(self) -> list[psutil.Process]:
        """The process manager and everything below it."""
        manager = psutil.Process(int((self.state / "supervisord.pid").read_text()))
        return [manager, *manager.children(recursive=True)]

    def strays(self) -> list[psutil.Process]:
        """Processes of the process manager's session that are no longer below it."""
        family = self.family()
        session = os.getsid(family[0].pid)
        return [process for process in psutil.process_iter() if process not in family and _session(process) == session]


def _session(process: psutil.Process) -> int | None:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return None


@contextmanager
def embedded_stack(state: Path, project: Path = ROOT) -> Iterator[EmbeddedStack]:
    """A stack that is not up yet; whatever is started of it is gone afterwards."""
    stack = EmbeddedStack(state, project)
    try:
        yield stack
    finally:
        stack.end()
