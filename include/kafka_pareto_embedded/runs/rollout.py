"""Show the active settings, roll back to earlier ones, and check them, from the command line."""

from __future__ import annotations

import getpass
import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.rollout.client_files import client_files
from kafka_pareto.rollout.versions import (
    ActiveSettings,
    active_cases,
    active_settings,
    active_settings_with_files,
    cluster_of_version,
    file_of,
)
from kafka_pareto.settings import Settings
from kafka_pareto.steps import roll_back as step
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.cluster_names import cluster_of
from kafka_pareto.study.identifiers import retune_dag_of, settings_dag_of, tune_dag_of
from kafka_pareto.study.requests import ActiveRequest, RollBackRequest, StudyRequest
from kafka_pareto_embedded.runs.airflow_runs import stack_runs
from kafka_pareto_embedded.runs.follow import failed_rows, follow, say_notices, say_what_failed
from kafka_pareto_embedded.runs.progress import TaskProgress
from kafka_pareto_embedded.runs.request import timestamp
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.as_typed import as_typed
from kafka_pareto_embedded.terminal.reply import Reply

_CAME_BY = {
    "recommended": "recommended by campaign {}",
    "picked": "picked from campaign {}",
    "rolled_back": "restored by a rollback; measured in campaign {}",
}


def roll_back(request: RollBackRequest, stack: Stack) -> Reply:
    """Trigger the rollback, follow its run, and print the active settings.

    Returns:
        The run and the active settings; exit code 0 on success, 1 on failure.

    Raises:
        BadInputError: If no settings are active, or Airflow refuses a parameter.
        StackError: If the stack does not answer.
    """
    store = open_store(stack.settings())
    case = request.case
    now = active_settings(store, request.study, case)
    if now is None:
        raise _no_active_settings(store, request.study, case)
    asked = {"study": request.study, "case": case, "reason": request.reason}
    parameters = {"action": "roll_back", **asked, "campaign": "", "configuration": "", "from_version": now.version}
    ended = _run_dag(stack, settings_dag_of(cluster_of_version(store, now)), f"rollback__{timestamp()}", parameters)
    if ended.exit_code:
        return ended
    print()
    return Reply({**ended.fields, **_shown(store, request)})


def roll_back_here(request: RollBackRequest, settings: Settings) -> Reply:
    """Roll back in a folder of results and print the active settings.

    Raises:
        BadInputError: If no settings are active.
    """
    store = open_store(settings)
    step.run(store, request.study, request.case, by=_user(), reason=request.reason)
    return Reply(_shown(store, request))


def _user() -> str:
    """Return the user's name, or ID if it has none, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # OSError since Python 3.13
        return str(os.getuid())


def _shown(store: Store, request: RollBackRequest) -> dict[str, Any]:
    """Print the active settings after a rollback, and return them for scripts."""
    now = active_settings(store, request.study, request.case)
    _print(now)
    return {"active": None if now is None else now.model_dump(mode="json")}


def retune_now(request: StudyRequest, stack: Stack) -> Reply:
    """Trigger a check of the active settings and follow it to its decision; return like `roll_back`."""
    cluster = cluster_of(stack.settings().studies, request.study)
    check_dag = retune_dag_of(request.study if cluster else "")
    ended = _run_dag(stack, check_dag, f"retune__{timestamp()}", {"study": request.study})
    tuning = []
    with stack_runs(stack, tune_dag_of(cluster)) as runs:
        for run_id, parameters in runs.active():
            if parameters.get("study") == request.study and "campaign" in parameters:
                print(f"\nTuning: {runs.address(run_id)}")
                again = f"make run STUDY={request.study} CAMPAIGN={parameters['campaign']}"
                print(f"To follow it: {as_typed(again)}")
                tuning.append({"campaign": parameters["campaign"], "run": runs.address(run_id)})
    return Reply({**ended.fields, "tuning": tuning}, ended.exit_code)


def show_active(request: ActiveRequest, settings: Settings, *, as_json: bool = False) -> None:
    """Print the active settings for each case of the study; copy the files if a folder is given.

    Raises:
        BadInputError: If no settings are active, or the folder cannot be written to.
    """
    store = open_store(settings)
    cases = active_cases(store, request.study)
    if not cases:
        raise _no_active_settings(store, request.study, None)
    found = [each for case in cases if (each := active_settings_with_files(store, request.study, case))]
    copies = [] if request.folder is None else [_copy_files(each, request.folder) for each in found]
    if as_json:
        print(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    for at, each in enumerate(found):
        _print(each)
        if copies:
            print(f"  copied to {copies[at]}")


def _run_dag(stack: Stack, dag_id: str, run_id: str, parameters: dict[str, Any]) -> Reply:
    with stack_runs(stack, dag_id) as runs:
        runs.trigger(run_id, parameters)
        address = runs.address(run_id)
        print(f"Started: {address}", flush=True)
        progress = follow(runs, run_id, TaskProgress(), Console())
        if progress.run_state == "failed":
            failed = failed_rows(progress)
            for row in failed:
                say_what_failed(runs, run_id, row)
            print(f"\nFull log: {address}")
            return Reply({"error": f"{', '.join(row.name for row in failed) or 'the run'} failed", "run": address}, 1)
        say_notices(runs, run_id, progress.rows)
    return Reply({"run": address})


def _print(settings: ActiveSettings | None) -> None:
    if settings is None:
        return
    came_by = _CAME_BY[settings.came_by].format(settings.campaign)
    by = f", accepted by {settings.accepted_by}" if settings.accepted_by else ""
    reason = f": {' '.join(settings.reason.split())}" if settings.reason else ""
    print(f"{case_label(settings.case)}: version {settings.version} since {settings.at}")
    print(f"  {'the baseline; ' if settings.is_baseline else ''}{came_by}{by}{reason}")
    for name in sorted(settings.properties):
        print(f"  {name}={property_text(settings.properties[name])}")


def _copy_files(settings: ActiveSettings, folder: Path) -> Path:
    target = folder / settings.study / settings.case
    try:
        created = [each for each in (target, *target.parents) if not each.exists()]
        target.mkdir(parents=True, exist_ok=True)
        for each in created:
            each.chmod(0o755)  # clients may read the files as another user
        for name in client_files(settings.driver):
            (target / name).write_text(file_of(settings, name), encoding="utf-8")
            (target / name).chmod(0o644)
    except OSError as error:
        raise BadInputError(f"FOLDER={folder}: cannot be written to: {error.strerror}") from error
    return target


def _no_active_settings(store: Store, study: str, case: str | None) -> BadInputError:
    cases = ", ".join(active_cases(store, study))
    if case is not None and cases:
        return BadInputError(
            f"RECORD_SIZE={case}: no settings are active in study {study}; it has active settings for {cases}"
        )
    return BadInputError(
        f"STUDY={study}: no settings are active yet; `make run STUDY={study}` activates a recommendation, "
        "the explorer's button a confirmed configuration"
    )
