"""Follow a DAG run to its end, and report the causes of a failure."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from threading import Event

import psutil
from rich.console import Console

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.waiting import holds_within
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns
from kafka_pareto_embedded.runs.progress import FollowedRun, Progress, Row
from kafka_pareto_embedded.terminal.as_typed import as_typed
from kafka_pareto_embedded.terminal.display import open_display

_POLL_S = 1.5
_STOP_WITHIN_S = 30.0
_LOAD_MACHINE = "tasks.run_load_machine"
_AT_WORK = frozenset({"running", "restarting"})
# These lines surround a step's output in the log of its task.
_FIRST_LINE = "Running command: "
_LAST_LINE = "Command exited with return code"
_AIRFLOW_FAILED = "Task failed with exception"


def follow(runs: AirflowRuns, run_id: str, followed: FollowedRun, console: Console) -> Progress:
    """Show the run's progress until the end and return its final state."""
    began = time.monotonic()
    never = Event()
    overrides = ""
    with open_display(console) as display:
        while True:
            # The run's state first: after its end the tasks no longer change.
            state = runs.state(run_id)
            progress = followed.at(state, runs.tasks(run_id), time.monotonic() - began)
            display.show(progress)
            if progress.overrides != overrides:  # once the plan exists
                overrides = progress.overrides
                display.say(f"Different from the study's file: {progress.overrides}")
            if state in ("success", "failed"):
                return progress
            never.wait(_POLL_S)


def stop(runs: AirflowRuns, run_id: str, keys: CampaignKeys) -> bool:
    """Stop the run and wait for the end of its tasks and processes, to leave no load on the cluster.

    Airflow marks a task as failed immediately, but ends its process only at the next heartbeat.

    Returns:
        True if all have ended.
    """
    runs.stop(run_id)

    def has_ended() -> bool:
        return not _is_loading(keys) and not any(task.state in _AT_WORK for task in runs.tasks(run_id))

    return holds_within(_STOP_WITHIN_S, has_ended, _POLL_S)


def _is_loading(keys: CampaignKeys) -> bool:
    """Return whether a process on this machine is a step of the campaign, or sends to its topics."""
    step = {f"--study={keys.study}", f"--campaign={keys.campaign}"}
    topics = f"kafka-pareto.{keys.study}.{keys.campaign}."
    for process in psutil.process_iter():
        try:
            argv = process.cmdline()
        except psutil.Error:
            continue
        is_step = step <= set(argv) and _LOAD_MACHINE not in argv  # which only sends while a step measures
        if process.pid != os.getpid() and (is_step or any(word.startswith(topics) for word in argv)):
            return True
    return False


def failed_rows(progress: Progress) -> list[Row]:
    """Return the tasks that failed themselves, without their skipped successors."""
    return [row for row in progress.rows if row.state == "failed"]


def say_what_failed(runs: AirflowRuns, run_id: str, row: Row) -> None:
    """Print the step's error message from its log, or the last line if there is none."""
    try:
        message = message_in(runs.log(run_id, row.task))
    except StackError as error:
        message = str(error)
    print(f"\n{row.name} failed:")
    print("\n".join(f"  {line}" for line in as_typed(message).splitlines()), flush=True)


def say_notices(runs: AirflowRuns, run_id: str, rows: Sequence[Row]) -> None:
    """Print the notices of these tasks' steps."""
    for row in rows:
        notice = runs.notice(run_id, row.task)
        if notice is not None:
            print(f"\n{notice.subject}\n{as_typed(notice.text)}", flush=True)


def message_in(log: Sequence[str]) -> str:
    """Return the plan and the error from a step's log: the plan explains a refusal and is read before consent.

    Without an error, return the last line; if no step was started, Airflow's message.
    """
    lines = [line.rstrip() for line in log if line.strip()]
    begun = [number for number, line in enumerate(lines) if line.startswith(_FIRST_LINE)]
    if not begun and _AIRFLOW_FAILED in lines[:-1]:
        return lines[lines.index(_AIRFLOW_FAILED) + 1]
    step = lines[begun[-1] + 1 if begun else 0 :]
    ended = [number for number, line in enumerate(step) if line.startswith((_LAST_LINE, _AIRFLOW_FAILED))]
    step = step[: ended[0]] if ended else step
    starts = [number for number, line in enumerate(step) if line.startswith("error: ")]
    if starts:
        plan = [line for line in step if line.startswith("plan: ")]
        return "\n".join([*plan, *step[starts[-1] :]])
    return step[-1] if step else "no output; see the task's log in Airflow"
