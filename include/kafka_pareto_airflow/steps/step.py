"""What every step of the pipeline has in common as a task of Airflow, whatever it runs in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from airflow.sdk import Asset, BaseOperator, Context, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

from kafka_pareto.errors import EXIT_BAD_INPUT, EXIT_NO_CONSENT
from kafka_pareto_airflow.notify.notices import StepNotifier

# What a step's command line answers to an argument that it does not know or cannot read.
_EXIT_USAGE = 2
_NOT_RETRIED = (EXIT_BAD_INPUT, EXIT_NO_CONSENT, _EXIT_USAGE)

# Airflow kills a task's process 5 s after it told it to end; the step must be gone before.
KILL_GRACE_S = 4


class Step(BaseOperator):
    """Runs the module `tasks.<step>` with an argument list and takes its manifest.

    The step's last line is its manifest, pushed as the XCom `manifest` and kept out of the log, which so ends with the
    step's words for people. Of a step that fails, the XCom `exit_code` is pushed instead. The events of the task's
    outlets carry what the manifest has for them; without any, nothing has happened to these assets, and there is no
    event. Its notice goes to the people whom the installation names.

    The operator returns what a later task is mapped over: the manifest's cases or, where the step was itself
    mapped over them, its one case. A manifest without cases leaves the tasks that follow nothing to do:
    they are skipped.

    A subclass says what the step runs in, and sees to it that the step ends with its task.

    Args:
        step: The module's name under `tasks`.
        arguments: The step's arguments, each a Jinja template; one that renders to nothing is left out.
        case: The case of a mapped step.

    Raises:
        AirflowFailException: If the step refuses its input or its arguments; a retry cannot help.
        AirflowException: If it fails in any other way.
        DownstreamTasksSkipped: If it names no case.
    """

    template_fields: ClassVar[Sequence[str]] = ("arguments",)
    template_ext: ClassVar[Sequence[str]] = ()  # an argument that ends like a file's name is no file

    def __init__(self, *, step: str, arguments: Sequence[str], case: str | None = None, **kwargs: Any) -> None:
        # A mapped step is made with every argument that an operator knows, this one among them.
        super().__init__(**{**kwargs, "on_success_callback": StepNotifier()})
        self.step = step
        self.arguments = arguments
        self.case = case
        self._held_back = ""

    def run_step(self, command: list[str], context: Context) -> tuple[int, str]:
        """Runs the command, which begins with the name of Python, and logs what it prints, but for the manifest.

        Returns:
            Its exit code, and the line that says how it ended: the manifest, or what went wrong.
        """
        raise NotImplementedError

    def execute(self, context: Context) -> list[str] | str:
        """Runs the step to its end."""
        command = ["python", "-m", f"tasks.{self.step}", *(argument for argument in self.arguments if argument)]
        if self.case is not None:
            command.append(f"--case={self.case}")
        self.log.info("Running command: %s", command)
        exit_code, last_line = self.run_step(command, context)
        if exit_code != 0:
            if self._held_back:
                self.log.info("%s", self._held_back)
            self.log.info("Command exited with return code %s", exit_code)
            context["ti"].xcom_push(key="exit_code", value=exit_code)
        if exit_code in _NOT_RETRIED:
            raise AirflowFailException(last_line)
        if exit_code != 0:
            raise AirflowException(f"step {self.step} ended with exit code {exit_code}: {last_line}")
        manifest = self._manifest(last_line)
        context["ti"].xcom_push(key="manifest", value=manifest)
        event = manifest.get("event")
        if not event:
            self.outlets: list[Asset] = []  # Airflow makes an event of each that is left
        for asset in self.outlets:
            context["outlet_events"][asset].extra = event
        if self.case is not None:
            return self.case
        if not manifest["cases"]:
            raise DownstreamTasksSkipped(tasks=self._skipped_with_it())
        named: list[str] = manifest["cases"]
        return named

    def log_lines(self, lines: Iterable[str]) -> str:
        """Logs the lines, but for a last one that may be a manifest; returns the last one."""
        line = ""
        for raw_line in lines:
            if self._held_back:
                self.log.info("%s", self._held_back)
            line = raw_line.rstrip()
            self._held_back = line if line.startswith("{") else ""
            if not self._held_back:
                self.log.info("%s", line)
        return line

    def _skipped_with_it(self) -> list[str]:
        """Every task that Airflow would skip after this one, task by task and a second for each."""
        skipped: dict[str, None] = {}
        reached: list[Any] = [self]
        while reached:
            for task in reached.pop().downstream_list:
                if task.trigger_rule == TriggerRule.ALL_SUCCESS and task.task_id not in skipped:
                    skipped[task.task_id] = None
                    reached.append(task)
        return list(skipped)

    def _manifest(self, line: str) -> dict[str, Any]:
        with suppress(ValueError):
            manifest = json.loads(line)
            if isinstance(manifest, dict) and isinstance(manifest.get("cases"), list):
                return manifest
        raise AirflowFailException(f"step {self.step} must print its manifest as its last line, but printed {line!r}")
