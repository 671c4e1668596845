"""Bring the embedded stack up and down, show its status, and remove it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from kafka_pareto.campaign.client_config import sweep_client_configs
from kafka_pareto.drivers.producer.load_machines import create_key
from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.airflow_api.administrator import administrator
from kafka_pareto_embedded.airflow_api.client import EVERY_DAG
from kafka_pareto_embedded.bootstrap.ports import VARIABLES, read_ports
from kafka_pareto_embedded.bootstrap.preflight import start_problems, state_folder
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.readiness import (
    answers_everywhere,
    wait_for_airflow,
    wait_for_brokers,
    wait_for_minio,
    wait_for_mlflow,
)
from kafka_pareto_embedded.lifecycle.supervision import ProcessState, Supervisor
from kafka_pareto_embedded.programs.preparation import migrate_database, prepare_mlflow_users, prepare_object_store
from kafka_pareto_embedded.programs.programs import base_environment, prepare_programs
from kafka_pareto_embedded.stack.credentials import Credentials, write_credentials
from kafka_pareto_embedded.stack.stack import TOOLS, Stack

Say = Callable[[str], None]

UNFINISHED_RESTORE = ".restored"
"""A folder in the state folder while a verified backup is moved from there."""
_LOCK = ".lock"
_MARK = ".kafka-pareto-state"
_MARK_TEXT = "This folder belongs to an embedded stack of kafka-pareto. `make clean` removes it with its contents.\n"
_FOLDERS = ("airflow", "brokers", "client-configs", "home", "logs", "minio", "mlflow", "reports", "tmp")
_WRITTEN_WITHOUT_STACK = {_LOCK, "ingestions"}


def up(say: Say) -> Stack:
    """Bring the whole stack up, wait until it is ready, and return it; do nothing if it is ready already.

    If this call fails or is interrupted, it stops the programs it has started. `say` receives each line for the user.

    Raises:
        BadInputError: If a port or the state folder cannot be used.
        KafkaParetoError: If a part does not come up, or a file cannot be written.
    """
    state = state_folder(os.environ)
    claim(state)
    with locked(state):
        if (state / UNFINISHED_RESTORE).exists():
            raise BadInputError(f"{state}: a restore was interrupted; run the same `make restore` again")
        supervisor = Supervisor(state)
        if supervisor.is_up():
            stack = Stack.load()
            if stack is None:
                raise StackError(
                    "the stack is running, but ports.json is missing; stop it with `make down`, then start it again"
                )
            _refuse_other_settings(stack)
            if all(process.is_running for process in supervisor.processes()) and answers_everywhere(stack):
                say("The stack is already up.")
            else:
                _repair(stack, supervisor, say)
        else:
            supervisor.end_leftovers()
            stack = _new_stack(state, say)
            _start(stack, supervisor, say)
        sweep_credentials(stack, say)
    return stack


def running() -> Stack:
    """Return the stack that is up.

    Raises:
        StackError: If it is down.
    """
    stack = Stack.load()
    if stack is None or not Supervisor(stack.state).is_up():
        raise StackError("the stack is down; start it with `make up`, then run the same command again")
    return stack


def down(say: Say) -> bool:
    """Stop the whole stack and return whether it was up; print nothing if nothing runs.

    Raises:
        StackError: If a process cannot be ended, or a file cannot be read or written.
    """
    state = state_folder(os.environ)
    if not state.is_dir():
        return False
    with locked(state):
        supervisor = Supervisor(state)
        if was_up := supervisor.is_up():
            try:
                if stack := Stack.load():
                    sweep_credentials(stack, say)
            except StackError as error:
                say(str(error))  # reported here, so that it does not prevent the stop
            say("Stopping the stack …")
            supervisor.shut_down()
        if supervisor.end_leftovers():
            say("Stopped leftover processes.")
        if was_up:
            say("Stopped.")
    return was_up


def sweep_credentials(stack: Stack, say: Say) -> None:
    """Remove the copies of users' `client.properties` that no active run needs, left by a killed `make run`."""

    def active_runs() -> set[str]:
        with administrator(stack) as airflow:
            return {run.dag_run_id for run in airflow.active_runs(EVERY_DAG)}

    try:
        for campaign in sweep_client_configs(stack.client_configs, active_runs):
            say(f"Removed the copy of client.properties of campaign {campaign}: no active run needs it.")
    except (StackError, OSError) as error:
        say(f"Copies of client.properties remain in {stack.client_configs} until the next `make up`: {error}")


def status() -> tuple[Stack | None, list[ProcessState]]:
    """Return the stack as last started (None: never), and its programs (empty: it is down)."""
    return Stack.load(), Supervisor(state_folder(os.environ)).processes()


def clean(say: Say) -> Path | None:
    """Stop the stack and remove its state folder; the checkout's state folder contains the installed tools too.

    Raises:
        BadInputError: If the folder does not belong to a stack.
        StackError: If the stack cannot be stopped, or the folder cannot be removed.
    """
    state = state_folder(os.environ)
    if not state.exists():
        return None
    if state != TOOLS.resolve() and not (state / _MARK).is_file():
        raise BadInputError(
            f"KAFKA_PARETO_STATE={state}: not removed, since it contains no {_MARK}, which every start of a stack "
            "writes; remove it yourself"
        )
    down(say)
    with file_errors_named(state):
        shutil.rmtree(state)
        if state == TOOLS.resolve() and TOOLS.is_symlink():
            state.mkdir(mode=0o700)  # the checkout links to it; keep the folder for the next start
    say(f"Removed {state}.")
    return state


def claim(state: Path) -> None:
    """Create the state folder, for its owner only, and mark it for `clean`.

    A folder with other files is refused.

    Raises:
        BadInputError: If the folder cannot be created or used.
    """
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = {path.name for path in state.iterdir()}
        if state != TOOLS.resolve() and _MARK not in names and names - _WRITTEN_WITHOUT_STACK:
            raise BadInputError(
                f"KAFKA_PARETO_STATE={state}: contains files that do not belong to a stack; choose an empty or a new "
                "folder"
            )
        state.chmod(0o700)
        (state / _MARK).write_text(_MARK_TEXT, encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"KAFKA_PARETO_STATE={state}: cannot be used: {error.strerror}") from error


def _start(stack: Stack, supervisor: Supervisor, say: Say) -> None:
    try:
        with ThreadPoolExecutor(1) as background:
            migration = background.submit(migrate_database, stack)
            say("Preparing Kafka's storage and Airflow's database …")
            programs = prepare_programs(stack)
            supervisor.launch(programs, base_environment(stack))
            say("Starting Kafka, MinIO and MLflow …")
            _start_group(supervisor, "servers")
            migration.result()
        say("Starting Airflow …")
        _start_group(supervisor, "airflow")
        _wait_until_ready(stack, supervisor)
    except BaseException:
        if supervisor.is_up():
            say("Stopping the started programs …")
        try:
            supervisor.shut_down()
        except StackError as error:
            say(str(error))  # reported here, so that it does not hide the cause of the failed start
        raise


def _repair(stack: Stack, supervisor: Supervisor, say: Say) -> None:
    missing = [process for process in supervisor.processes() if process.state in ("STOPPED", "EXITED", "FATAL")]
    started: list[ProcessState] = []
    try:
        if missing:
            say(f"Starting {', '.join(process.name for process in missing)} …")
        migrate_database(stack)
        for process in missing:
            started.append(process)
            supervisor.start(process)
        _wait_until_ready(stack, supervisor)
    except BaseException:
        for process in started:
            with suppress(StackError):  # it may have exited already; the cause of the failed start counts
                supervisor.stop(process)
        raise


def _start_group(supervisor: Supervisor, group: str) -> None:
    for process in supervisor.processes():
        if process.group == group:
            supervisor.start(process)


def _wait_until_ready(stack: Stack, supervisor: Supervisor) -> None:
    wait_for_minio(stack, supervisor)
    prepare_object_store(stack)
    wait_for_brokers(stack, supervisor)
    wait_for_mlflow(stack, supervisor)
    prepare_mlflow_users(stack)
    wait_for_airflow(stack, supervisor)


def _new_stack(state: Path, say: Say) -> Stack:
    problems = start_problems(state, os.environ)
    if problems:
        raise BadInputError("\n".join(problems))
    stack = Stack(state, read_ports(os.environ))
    stack.record_ports()
    for name in _FOLDERS:
        (state / name).mkdir(exist_ok=True, mode=0o700)
    if not stack.secrets_file.exists():
        if any((state / database).exists() for database in ("airflow/airflow.db", "mlflow/mlflow.db")):
            raise BadInputError(
                f"{stack.secrets_file}: is missing, but the folder has a stack's data; restore the file, or remove the "
                "data with `make clean`"
            )
        write_credentials(stack.secrets_file, Credentials())
        say(f"Logins: {stack.logins} (mode 600)")
    stack.record_settings()
    if not (stack.load_credentials.exists() or os.environ.get("KAFKA_PARETO_LOAD_CREDENTIALS")):
        create_key(stack.load_credentials)
    return stack


def _refuse_other_settings(stack: Stack) -> None:
    """Refuse ports, studies or receivers of notices that differ from those of the running stack."""
    try:
        wanted = read_ports(os.environ)
    except ValueError as error:
        raise BadInputError(str(error)) from error
    for server, variable in VARIABLES.items():
        running = getattr(stack.ports, server)
        if os.environ.get(variable) and getattr(wanted, server) != running:
            raise BadInputError(
                f"{variable}={os.environ[variable]}: the stack is running with {running}; first stop it: `make down`"
            )
    started_with = stack.recorded_settings()
    for variable, value in stack.chosen_settings().items():
        # Without its variable, the command still reads a folder of studies, but sends no notices.
        is_used = variable == "KAFKA_PARETO_STUDIES" or os.environ.get(variable)
        if is_used and value != started_with.get(variable, value):
            raise BadInputError(
                f"{variable}={value}: the stack is running with {started_with[variable]}; first stop it: `make down`"
            )


@contextmanager
def file_errors_named(place: Path) -> Iterator[None]:
    """Convert an OSError to a StackError that names its file, or `place` if it has none."""
    try:
        yield
    except BrokenPipeError:  # the reader of stdout has ended
        raise
    except OSError as error:
        raise StackError(
            f"{error.filename or place}: {error.strerror or error}; fix this, then run the same command again"
        ) from error


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Hold the stack's lock, so that no other command changes it.

    Raises:
        StackError: If another one is running, or the block cannot read or write a file.
    """
    with file_errors_named(state), (state / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StackError(
                "another make up, run, down, backup or restore is running on this stack; wait until it has finished"
            ) from None
        yield
