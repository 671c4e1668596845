"""The operator that runs one step of the pipeline: how a step's process is started, judged and stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from airflow.sdk import BaseOperator, Context, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

from kafka_pareto.errors import EXIT_BAD_INPUT
from kafka_pareto_airflow.notices import StepNotifier

PROJECT_ROOT_VARIABLE = "KAFKA_PARETO_PROJECT_ROOT"

# What a step's command line answers to an argument that it does not know or cannot read.
_EXIT_USAGE = 2

# Airflow kills a task's process 5 s after it told it to end; the step must be gone before.
_KILL_GRACE_S = 4.0

_PASSED_PREFIXES = ("KAFKA_PARETO_", "LC_")
_PASSED_VARIABLES = frozenset(
    {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "TZ",
        "JAVA_HOME",
        "MPLBACKEND",
        "OMP_NUM_THREADS",
        "DO_NOT_TRACK",
        "SCARF_ANALYTICS",
        "MLFLOW_DISABLE_TELEMETRY",
        "GX_ANALYTICS_ENABLED",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    }
)


class StepOperator(BaseOperator):
    """Runs `python -m tasks.<step>` with an argument list, in the project's root, and takes its manifest.

    The step's last line is its manifest, pushed as the XCom `manifest` and kept out of the log, which so ends with the
    step's words for people. The events of the task's outlets carry what the manifest has for them; without any, nothing
    has happened to these assets, and there is no event. Its notice goes to the people whom the installation names.

    The operator returns what a later task is mapped over: the manifest's record sizes or, where the step was itself
    mapped over them, its one record size. A manifest without record sizes leaves the tasks that follow nothing to do:
    they are skipped.

    The step ends with its task: asked to when the task is stopped or times out, and by the kernel's parent-death
    signal when the task's process is killed.

    Args:
        step: The module's name under `tasks`.
        arguments: The step's arguments, each a Jinja template; one that renders to nothing is left out.
        record_size_bytes: The record size of a mapped step.

    Raises:
        AirflowFailException: If the step refuses its input or its arguments; a retry cannot help.
        AirflowException: If it fails in any other way.
        DownstreamTasksSkipped: If it names no record size.
    """

    template_fields: ClassVar[Sequence[str]] = ("arguments",)

    def __init__(
        self, *, step: str, arguments: Sequence[str], record_size_bytes: int | None = None, **kwargs: Any
    ) -> None:
        # A mapped step is made with every argument that an operator knows, this one among them.
        super().__init__(**{**kwargs, "on_success_callback": StepNotifier()})
        self.step = step
        self.arguments = arguments
        self.record_size_bytes = record_size_bytes
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> list[int] | int:
        """Runs the step to its end."""
        root = project_root(os.environ)
        command = ["setpriv", "--pdeathsig", "TERM", "--", sys.executable, "-m", f"tasks.{self.step}"]
        command += [argument for argument in self.arguments if argument]
        if self.record_size_bytes is not None:
            command.append(f"--record-size={self.record_size_bytes}")
        exit_code, last_line = self._run(command, root)
        if exit_code in (EXIT_BAD_INPUT, _EXIT_USAGE):
            raise AirflowFailException(last_line)
        if exit_code != 0:
            raise AirflowException(f"step {self.step} ended with exit code {exit_code}: {last_line}")
        manifest = self._manifest(last_line)
        context["ti"].xcom_push(key="manifest", value=manifest)
        event = manifest.get("event")
        if not event:
            self.outlets = []  # Airflow makes an event of each that is left
        for asset in self.outlets:
            context["outlet_events"][asset].extra = event
        if self.record_size_bytes is not None:
            return self.record_size_bytes
        if not manifest["record_sizes_bytes"]:
            raise DownstreamTasksSkipped(tasks=self._skipped_with_it())
        return manifest["record_sizes_bytes"]

    def on_kill(self) -> None:
        """Tells the step and its children to end, and kills those that do not."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_KILL_GRACE_S)
            os.killpg(process.pid, signal.SIGKILL)

    def _skipped_with_it(self) -> list[str]:
        """Every task that Airflow would skip after this one, task by task and a second for each."""
        skipped: dict[str, None] = {}
        reached = [self]
        while reached:
            for task in reached.pop().downstream_list:
                if task.trigger_rule == TriggerRule.ALL_SUCCESS and task.task_id not in skipped:
                    skipped[task.task_id] = None
                    reached.append(task)
        return list(skipped)

    def _run(self, command: list[str], root: Path) -> tuple[int, str]:
        """Runs the step and logs what it prints, but for the manifest; returns its exit code and its last line."""
        self.log.info("Running command: %s", command)
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=root,
            env=step_environment(os.environ, root),
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,  # it leads a process group of its own
        )
        line = held_back = ""
        # Left open when a timeout strikes: whoever closes it would end a step that still prints as it cleans up.
        for raw_line in self._process.stdout:
            if held_back:
                self.log.info("%s", held_back)
            line = raw_line.rstrip()
            held_back = line if line.startswith("{") else ""
            if not held_back:
                self.log.info("%s", line)
        self._process.stdout.close()
        exit_code = self._process.wait()
        if exit_code != 0:
            if held_back:
                self.log.info("%s", held_back)
            self.log.info("Command exited with return code %s", exit_code)
        return exit_code, line

    def _manifest(self, line: str) -> dict[str, Any]:
        with suppress(ValueError):
            manifest = json.loads(line)
            if isinstance(manifest, dict) and isinstance(manifest.get("record_sizes_bytes"), list):
                return manifest
        raise AirflowFailException(f"step {self.step} must print its manifest as its last line, but printed {line!r}")


def project_root(environment: Mapping[str, str]) -> Path:
    """The folder that holds `tasks` and `include`: this checkout, unless the environment names another."""
    return Path(environment.get(PROJECT_ROOT_VARIABLE) or Path(__file__).parent.parent.parent)


def step_environment(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """What a step gets to see of the task's environment: nothing of Airflow's, and so none of its secrets."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_VARIABLES or name.startswith(_PASSED_PREFIXES)
    }
    return {**passed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'include'}", "PYTHONUNBUFFERED": "1"}
