"""Define the common base of all step operators."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from airflow.sdk import Asset, BaseOperator, Context, TriggerRule
from airflow.sdk.exceptions import AirflowException, AirflowFailException, DownstreamTasksSkipped

from kafka_pareto.exit_codes import EXIT_BAD_INPUT, EXIT_NO_CONSENT, EXIT_USAGE
from kafka_pareto_airflow.notify.notices import StepNotifier

# The exit code of a step's command line for an unknown or invalid argument.
_NOT_RETRIED = (EXIT_BAD_INPUT, EXIT_NO_CONSENT, EXIT_USAGE)

# Airflow kills a task's process 5 s after TERM; the step must end before that.
KILL_GRACE_S = 4


class Step(BaseOperator):
    """Run the module `tasks.<step>` with an argument list and take its manifest.

    The step's last line is its manifest. It is pushed as the XCom `manifest` and not logged, so the log ends with
    readable text. If a step fails, the XCom `exit_code` is pushed instead.

    The events of the task's outlets contain the manifest's event; without one there are no events. The manifest's
    notice is sent to the configured receivers.

    The operator returns the values that later tasks are mapped over: the manifest's cases or, for a mapped step, its
    one case. If a manifest has no cases, the following tasks are skipped.

    A subclass defines where the step runs, and ends the step with its task.

    Args:
        step: The module's name under `tasks`.
        arguments: The step's arguments, each a Jinja template; arguments that render to empty text are omitted.
        case: The case of a mapped step.

    Raises:
        AirflowFailException: If the step rejects its input or its arguments; a retry cannot help.
        AirflowException: If it fails otherwise.
        DownstreamTasksSkipped: If the manifest has no cases.
    """

    template_fields: ClassVar[Sequence[str]] = ("arguments",)
    template_ext: ClassVar[Sequence[str]] = ()  # an argument that looks like a file name is not a template file

    def __init__(self, *, step: str, arguments: Sequence[str], case: str | None = None, **kwargs: Any) -> None:
        # Airflow passes all known operator arguments to a mapped step, including this one.
        super().__init__(**{**kwargs, "on_success_callback": StepNotifier()})
        self.step = step
        self.arguments = arguments
        self.case = case
        self._held_back = ""
        self._said_after_manifest = False

    def run_step(self, command: list[str], context: Context) -> tuple[int, str]:
        """Run the command, which begins with the name of Python, and log its output except for the manifest.

        Returns:
            The exit code, and the last line: the manifest or the error.
        """
        raise NotImplementedError

    def execute(self, context: Context) -> list[str] | str:
        """Run the step to its end."""
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
            self.outlets: list[Asset] = []  # Airflow creates an event for each remaining outlet
        for asset in self.outlets:
            context["outlet_events"][asset].extra = event
        if self.case is not None:
            return self.case
        if not manifest["cases"]:
            raise DownstreamTasksSkipped(tasks=self._skipped_with_it())
        named: list[str] = manifest["cases"]
        return named

    def log_lines(self, lines: Iterable[str]) -> str:
        """Log the lines, except for a last one that looks like a manifest, and return the last one."""
        line = ""
        for raw_line in lines:
            if self._held_back:
                self.log.info("%s", self._held_back)
            self._said_after_manifest |= _manifest_in(self._held_back) is not None
            line = raw_line.rstrip()
            self._held_back = line if line.startswith("{") else ""
            if not self._held_back:
                self.log.info("%s", line)
        return line

    def _skipped_with_it(self) -> list[str]:
        """Return all tasks to skip after this one, because Airflow itself takes a second for each."""
        skipped: dict[str, None] = {}
        reached: list[Any] = [self]
        while reached:
            for task in reached.pop().downstream_list:
                if task.trigger_rule == TriggerRule.ALL_SUCCESS and task.task_id not in skipped:
                    skipped[task.task_id] = None
                    reached.append(task)
        return list(skipped)

    def _manifest(self, line: str) -> dict[str, Any]:
        manifest = _manifest_in(line)
        if manifest is not None:
            return manifest
        if self._said_after_manifest:
            raise AirflowFailException(
                f"step {self.step} printed {line!r} after its manifest, which must be its last line; remove that output"
                " from the step"
            )
        raise AirflowFailException(f"step {self.step} must print its manifest as its last line, but printed {line!r}")


def _manifest_in(line: str) -> dict[str, Any] | None:
    with suppress(ValueError):
        manifest = json.loads(line)
        if isinstance(manifest, dict) and isinstance(manifest.get("cases"), list):
            return manifest
    return None
