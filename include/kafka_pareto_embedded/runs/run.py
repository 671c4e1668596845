"""Run a campaign on a running stack: trigger it, follow it, and print its cards and addresses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

from kafka_pareto.campaign.client_config import client_config_name, run_start_lock
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.exit_codes import EXIT_NO_CONSENT
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.cluster_names import cluster_of, kind_of
from kafka_pareto.study.identifiers import compare_dag_of, tune_dag_of
from kafka_pareto.study.requests import RunRequest
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.waiting import holds_within
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns, stack_runs
from kafka_pareto_embedded.runs.finished_text import finished_text
from kafka_pareto_embedded.runs.follow import failed_rows, follow, say_notices, say_what_failed, stop
from kafka_pareto_embedded.runs.progress import CampaignProgress, Progress, Row
from kafka_pareto_embedded.runs.request import (
    HandOver,
    dag_parameters,
    handing_over,
    study_name,
    timestamp,
)
from kafka_pareto_embedded.stack.stack import Stack
from kafka_pareto_embedded.terminal.as_typed import as_typed

_INTERRUPTED = 130
_STUDY_POLL_S = 2.0
_START_POLL_S = 0.5
_STARTED_WITHIN_S = 3.0
_STUDY_SEEN_WITHIN_S = 45.0  # since the request to parse the DAG's file; by default Airflow parses it every two minutes


def run(stack: Stack, request: RunRequest, *, whole: bool = False) -> int:
    """Run a campaign; an existing one resumes with its original values.

    With `whole`, print all cards or tables at the end, not only the summary.

    Returns:
        0 if the campaign succeeded, 1 if it failed, 130 if it was interrupted.

    Raises:
        BadInputError: If an option cannot be used; no run is started then.
        StackError: If the stack does not answer.
    """
    settings = stack.settings()
    store = open_store(settings)
    study = study_name(request, store, settings)
    of_kind = compare_dag_of if kind_of(settings.studies / f"{study}.yaml") == "compare" else tune_dag_of
    with stack_runs(stack, of_kind(cluster_of(settings.studies, study))) as runs:
        parameters = dag_parameters(request, store, settings)
        return run_campaign(stack, runs, store, parameters, handing_over(request, parameters, settings), whole)


def run_campaign(
    stack: Stack,
    runs: AirflowRuns,
    store: Store,
    parameters: dict[str, Any],
    credentials: HandOver | None = None,
    whole: bool = False,
) -> int:
    """Trigger the campaign's run, or join its active one, and follow it; return like `run`.

    An interruption stops the run that this call has triggered; a joined run continues.

    `credentials` keeps a copy of the user's `client.properties`; None without one.

    Raises:
        StackError: If the stack does not answer, or the report cannot be written.
    """
    keys = CampaignKeys(parameters["study"], parameters["campaign"])
    run_id = own_id = f"{keys.campaign}__{timestamp()}"
    is_new = not _is_designed(store, keys)
    try:
        run_id = start_or_join(stack.client_configs, runs, own_id, parameters, credentials)
        if run_id != own_id and credentials is not None:
            _say("KAFKA_CONFIG is ignored: this campaign is already running, with its original configuration.")
        _say(f"Campaign {keys.campaign} of study {keys.study}: {runs.address(run_id)}")
        progress = follow(runs, run_id, CampaignProgress(store, keys), Console())
    except (KeyboardInterrupt, SystemExit) as interruption:
        if run_id != own_id:
            _say(f"\nNo longer following. The run continues: {runs.address(run_id)}")
            _say(f"To follow it again: {_resume_command(parameters)}")
        elif _has_started(runs, run_id):
            _say_interrupted(runs, run_id, store, parameters)
        else:
            _say("\nNo run was started. To start one, run the same command again.")
        if isinstance(interruption, SystemExit):
            raise
        return _INTERRUPTED
    if progress.run_state == "failed":
        _say_failure(runs, run_id, progress, parameters, is_new)
        return 1
    say_notices(runs, run_id, [row for row in progress.rows if row.step == "accept"])
    try:
        text = finished_text(stack, store, keys, runs.address(run_id), whole=whole)
    except OSError as error:
        raise StackError(
            f"{error.filename or stack.reports}: {error.strerror or error}; the campaign succeeded: fix this, then "
            f"print its result with {_resume_command(parameters)}"
        ) from error
    print(f"\n{text}", flush=True)
    return 0


def _say_interrupted(runs: AirflowRuns, run_id: str, store: Store, parameters: Mapping[str, Any]) -> None:
    """Stop the campaign, to leave no load."""
    keys = CampaignKeys(parameters["study"], parameters["campaign"])
    _say("\nStopping the campaign …")
    ended = stop(runs, run_id, keys)
    _say("Stopped." if ended else f"A task is still running; see {runs.address(run_id)}")
    if _is_designed(store, keys):
        _say(f"All measurements are kept. To resume: {_resume_command(parameters)}")
    else:
        _say("No measurements yet. To start again, run the same command.")


def _run_of(runs: AirflowRuns, keys: CampaignKeys) -> str | None:
    """Return the active run of this campaign, as after a restart of the stack; None if there is none."""
    for run_id, parameters in runs.active():
        if (parameters.get("study"), parameters.get("campaign")) == (keys.study, keys.campaign):
            return run_id
    return None


def start_or_join(
    client_configs: Path,
    runs: AirflowRuns,
    run_id: str,
    parameters: dict[str, Any],
    credentials: HandOver | None = None,
) -> str:
    """Start the run, unless the campaign has an active one, and return the ID of the active run.

    Waits first if Airflow has not yet loaded a new study. The copy of the user's credentials is written last: nothing
    can fail between it and the run that removes it. A lock on the folder of copies lets only one process at a time look
    for a run and start one.

    Raises:
        BadInputError: If Airflow refuses a parameter.
    """
    _wait_until_offered(runs, parameters["study"])
    with run_start_lock(client_configs):
        if at_work := _run_of(runs, CampaignKeys(parameters["study"], parameters["campaign"])):
            return at_work
        with credentials(run_id) if credentials else nullcontext():
            runs.trigger(run_id, parameters)
    return run_id


def _wait_until_offered(runs: AirflowRuns, study: str) -> None:
    if study not in runs.studies() and (load_settings().studies / f"{study}.yaml").exists():
        _say(f"Waiting for Airflow to load the study {study} …")
        runs.read_dag_again()
        # If it does not load it, its refusal lists the choices.
        holds_within(_STUDY_SEEN_WITHIN_S, lambda: study in runs.studies(), _STUDY_POLL_S)


def _has_started(runs: AirflowRuns, run_id: str) -> bool:
    """Return whether the run exists; Airflow may create it shortly after an interrupted request."""
    return holds_within(_STARTED_WITHIN_S, lambda: runs.has(run_id), _START_POLL_S)


def _is_designed(store: Store, keys: CampaignKeys) -> bool:
    """Return whether the campaign's design is in the store; before that, no data is sent to a cluster."""
    return store.tag(keys.frozen_study()) is not None


def _say_failure(
    runs: AirflowRuns, run_id: str, progress: Progress, parameters: Mapping[str, Any], is_new: bool
) -> None:
    failed = failed_rows(progress)
    for row in failed:
        say_what_failed(runs, run_id, row)
    steps = {row.step for row in failed}
    _say("")
    sent = "No data was sent" if is_new else "No further data was sent"
    if any(_lacks_consent(runs, run_id, row) for row in failed):
        _say(f"{sent} to your cluster. To start as planned, run the same command with CONSENT=yes.")
    elif "design" in steps:
        _say(f"{sent} to the cluster. Fix the cause, then run the same command again.")
    elif "accept" in steps:
        _say(f"Settings activated before the error are active; `make active STUDY={parameters['study']}` shows them.")
        _say("Fix the cause, then clear the task `accept` in Airflow, which completes the activation.")
    elif "validate" in steps:
        _say("The validation would fail again. Fix the cause, then start a new campaign with the same command.")
    else:
        _say(f"All measurements are kept. Fix the cause, then resume: {_resume_command(parameters)}")
    _say(f"Full log: {runs.address(run_id)}")


def _lacks_consent(runs: AirflowRuns, run_id: str, row: Row) -> bool:
    try:
        return row.step == "design" and runs.exit_code(run_id, row.task) == EXIT_NO_CONSENT
    except StackError:
        return False


def _resume_command(parameters: Mapping[str, Any]) -> str:
    """Return the command that resumes a campaign, with its client configuration."""
    campaign = parameters["campaign"]
    again = " KAFKA_CONFIG=…" if parameters.get("client_config") == client_config_name(campaign) else ""
    return f"make run STUDY={parameters['study']} CAMPAIGN={campaign}{again}"


def _say(line: str) -> None:
    print(as_typed(line), flush=True)
