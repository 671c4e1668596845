"""Run a step as a process alongside its task: start, stop and environment."""

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
    """Run a step as a process of Airflow's Python, in the project's root.

    The process ends with its task: it gets TERM if the task is stopped or times out, and the kernel's parent-death
    signal if the task's process is killed.
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
            start_new_session=True,  # starts its own process group
        )
        # Not closed after a timeout, because closing it would end a step that still prints during its clean-up.
        output = cast(IO[str], self._process.stdout)
        last_line = self.log_lines(output)
        output.close()
        exit_code = self._process.wait()
        self._process = None  # from here on, the process group ID may be reused
        return exit_code, last_line

    def on_kill(self) -> None:
        """Terminate the step and its children, and kill the remaining ones."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(KILL_GRACE_S)
            os.killpg(process.pid, signal.SIGKILL)


def step_environment(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the environment of a step, without Airflow's variables and secrets."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_VARIABLES or name.startswith(_PASSED_PREFIXES)
    }
    return {**passed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'include'}", "PYTHONUNBUFFERED": "1"}
