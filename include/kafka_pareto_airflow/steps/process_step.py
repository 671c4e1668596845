"""Run a step as a process where its task runs: how it starts and stops, and what it sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from airflow.sdk import Context

from kafka_pareto.brokers.processes import tied
from kafka_pareto_airflow.project import project_root
from kafka_pareto_airflow.steps.step import KILL_GRACE_S, Step

_PASSED_PREFIXES = ("KAFKA_PARETO_", "LC_")
_PASSED_VARIABLES = {
    "PATH", "HOME", "TMPDIR", "LANG", "TZ", "JAVA_HOME", "MPLBACKEND", "OMP_NUM_THREADS",
    "DO_NOT_TRACK", "SCARF_ANALYTICS", "MLFLOW_DISABLE_TELEMETRY", "GX_ANALYTICS_ENABLED",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
}  # fmt: skip


class ProcessStep(Step):
    """Run a step as a process of Airflow's own Python, in the project's root.

    The process ends with its task. It is asked to end when the task is stopped or times out. The kernel's parent-death
    signal ends it when the task's process is killed.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._process: subprocess.Popen[str] | None = None

    def run_step(self, command: list[str], context: Context) -> tuple[int, str]:  # noqa: ARG002 (other runners need it)
        """Run the step; its stdout and stderr become one stream."""
        root = project_root(os.environ)
        self._process = subprocess.Popen(
            tied([sys.executable, *command[1:]], "TERM"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=root,
            env=step_environment(os.environ, root),
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,  # it leads a process group of its own
        )
        # Left open after a timeout: closing it would end a step that still prints while it cleans up.
        output = cast(IO[str], self._process.stdout)
        last_line = self.log_lines(output)
        output.close()
        exit_code = self._process.wait()
        self._process = None  # from here on its process group's number may be another's
        return exit_code, last_line

    def on_kill(self) -> None:
        """Ask the step and its children to end, and kill those that do not."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(KILL_GRACE_S)
            os.killpg(process.pid, signal.SIGKILL)


def step_environment(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the environment of a step: nothing of Airflow's, so none of its secrets."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_VARIABLES or name.startswith(_PASSED_PREFIXES)
    }
    return {**passed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'include'}", "PYTHONUNBUFFERED": "1"}
