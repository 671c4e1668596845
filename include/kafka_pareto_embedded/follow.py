"""Follows a run of the DAG to its end, and says what went wrong where it failed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from threading import Event

import psutil
from rich.console import Console
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from kafka_pareto.artifacts import CampaignKeys
from kafka_pareto_embedded.airflow_runs import AirflowRuns, TaskRun
from kafka_pareto_embedded.display import open_display
from kafka_pareto_embedded.progress import CampaignProgress, Progress, Row

_POLL_S = 1.5
_STOP_WITHIN_S = 30.0
_AT_WORK = frozenset({"running", "restarting"})
_LAST_LINE_OF_STEP = "Command exited with return code"


def follow(runs: AirflowRuns, run_id: str, campaign: CampaignProgress, console: Console) -> Progress:
    """Shows the run's progress until it has ended, and returns the last of it."""
    began = time.monotonic()
    never = Event()
    with open_display(console) as display:
        while True:
            # The run's state first: once it has ended, its tasks do not change any more.
            state = runs.state(run_id)
            progress = campaign.at(state, runs.tasks(run_id), time.monotonic() - began)
            display.show(progress)
            if state in ("success", "failed"):
                return progress
            never.wait(_POLL_S)


def stop(runs: AirflowRuns, run_id: str, keys: CampaignKeys) -> bool:
    """Stops the run and waits for its tasks and their processes, so that no load is left on the cluster.

    Airflow calls a task failed at once, but ends its process only at that one's next heartbeat.

    Returns:
        Whether all have ended.
    """
    runs.stop(run_id)
    ask = retry(
        retry=retry_if_result(lambda ended: not ended),
        wait=wait_fixed(_POLL_S),
        stop=stop_after_delay(_STOP_WITHIN_S),
        retry_error_callback=lambda _: False,
    )(lambda: not _is_loading(keys) and not any(task.state in _AT_WORK for task in runs.tasks(run_id)))
    return bool(ask())


def _is_loading(keys: CampaignKeys) -> bool:
    """Whether a process on this machine is one of the campaign's steps, or its load on a topic of the campaign."""
    step = {f"--study={keys.study}", f"--campaign={keys.campaign}"}
    topics = f"kafka-pareto.{keys.study}.{keys.campaign}."
    for process in psutil.process_iter():
        try:
            argv = process.cmdline()
        except psutil.Error:
            continue
        if process.pid != os.getpid() and (step <= set(argv) or any(word.startswith(topics) for word in argv)):
            return True
    return False


def failed_rows(progress: Progress) -> list[Row]:
    """The tasks that failed themselves; those that were not reached because of them are left out."""
    return [row for row in progress.rows if row.state == "failed"]


def what_failed(runs: AirflowRuns, run_id: str, task: TaskRun) -> str:
    """The step's own message, from its log; where it had none, the last that it said."""
    return message_in(runs.log(run_id, task))


def message_in(log: Sequence[str]) -> str:
    """The last message of a step's log, after the plan's line, which a refused plan is judged by."""
    lines = [line.rstrip() for line in log if line.strip()]
    starts = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    ends = [number for number, line in enumerate(lines) if line.startswith(_LAST_LINE_OF_STEP)]
    end = ends[-1] if ends else len(lines)
    if starts:
        plan = [line for line in lines if line.startswith("plan: ")]
        return "\n".join([*plan[-1:], *lines[starts[-1] : max(end, starts[-1] + 1)]])
    return lines[end - 1] if lines[:end] else "it has logged nothing; look at its log in Airflow"
