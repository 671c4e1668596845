"""Secrets and the process manager's configuration: written for their owner alone, read back unchanged."""

from __future__ import annotations

import errno
import os
import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from supervisor.options import ServerOptions

from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.bootstrap.ports import Ports
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.lifecycle.supervision import ProcessState, Supervisor, render_configuration
from kafka_pareto_embedded.programs.programs import Program, airflow_environment, base_environment, prepare_programs
from kafka_pareto_embedded.stack.credentials import Credentials, read_credentials, write_credentials
from kafka_pareto_embedded.stack.stack import Stack

pytestmark = pytest.mark.fast


def test_credentials_come_back_as_written_from_a_file_of_mode_600(tmp_path: Path) -> None:
    made = Credentials()
    write_credentials(tmp_path / "secrets.env", made)
    assert read_credentials(tmp_path / "secrets.env") == made
    assert (tmp_path / "secrets.env").stat().st_mode & 0o777 == 0o600


def test_every_password_and_key_is_newly_generated() -> None:
    one, other = vars(Credentials()), vars(Credentials())
    secret = [name for name in one if name.endswith(("password", "secret_key", "jwt_secret", "fernet_key"))]
    assert len(secret) == 12
    assert all(one[name] != other[name] and len(one[name]) >= 24 for name in secret)


def test_credentials_do_not_show_in_their_repr() -> None:
    made = Credentials()
    assert not any(value in repr(made) for value in vars(made).values() if len(value) > 10)


def test_a_missing_line_in_the_file_of_secrets_is_named(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    write_credentials(file, Credentials())
    file.write_text("".join(line for line in file.read_text().splitlines(True) if "JWT" not in line))
    with pytest.raises(StackError, match=r"secrets\.env: AIRFLOW_JWT_SECRET is missing; restore the line, or"):
        read_credentials(file)


def test_a_file_of_secrets_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"secrets\.env: cannot be read: No such file or directory; restore the"):
        read_credentials(tmp_path / "secrets.env")


@pytest.mark.parametrize("database", ["airflow/airflow.db", "mlflow/mlflow.db"])
def test_lost_secrets_of_a_stack_with_data_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    for name in (".kafka-pareto-state", database):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
    monkeypatch.setattr(lifecycle, "start_problems", lambda *_: [])
    with pytest.raises(BadInputError, match=r"secrets\.env: is missing, but the folder has a stack's data; restore"):
        lifecycle.up(lambda _: None)
    assert not (tmp_path / "secrets.env").exists()


def _stack(folder: Path, **ports: int) -> Stack:
    stack = Stack(folder, Ports()._replace(**ports))
    write_credentials(stack.secrets_file, Credentials())
    return stack


@pytest.mark.slow
def test_every_program_is_known_by_the_stacks_home_and_the_brokers_keep_their_data_apart(tmp_path: Path) -> None:
    for folder in ("airflow", "brokers"):
        (tmp_path / folder).mkdir()
    stack = _stack(tmp_path)
    programs = prepare_programs(stack)
    assert {program.environment["HOME"] for program in programs} == {str(tmp_path / "home")}
    brokers = {program.directory for program in programs if program.name.startswith("kafka-")}
    assert brokers == {tmp_path / "brokers" / f"kafka-{number}" for number in (1, 2, 3)}


def test_only_airflow_gets_the_notification_recipients_and_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = "smtp://ops:s%3Bcret@mail.example.org:587/?from_email=kafka%40example.org"
    notify = {"KAFKA_PARETO_NOTIFY": "log,smtp:ops@example.org", "AIRFLOW_CONN_SMTP_DEFAULT": connection}
    for name, value in notify.items():
        monkeypatch.setenv(name, value)
    stack = _stack(tmp_path)
    assert notify.items() <= airflow_environment(stack).items()
    assert not notify.keys() & base_environment(stack).keys()


def test_every_process_finds_folders_named_relative_to_the_commands_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("STUDIES", "CLIENT_JARS"):
        monkeypatch.setenv(f"KAFKA_PARETO_{name}", "mine")
    stack = _stack(tmp_path)
    assert airflow_environment(stack)["KAFKA_PARETO_STUDIES"] == str(tmp_path / "mine")
    for name in ("STUDIES", "CLIENT_JARS"):
        assert stack.step_environment()[f"KAFKA_PARETO_{name}"] == str(tmp_path / "mine")


def test_the_environments_other_store_is_not_the_stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STORE_FOLDER": str(tmp_path / "store"), "S3_REGION": "eu-central-1"}.items():
        monkeypatch.setenv(f"KAFKA_PARETO_{name}", value)
    environment = _stack(tmp_path).step_environment()
    assert "KAFKA_PARETO_STORE_FOLDER" not in environment
    assert environment["KAFKA_PARETO_S3_REGION"] == "us-east-1"


@pytest.fixture
def silent_manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A started stack whose process manager accepts connections but never answers."""
    # A short path: pytest's own may be too long for a socket.
    with TemporaryDirectory(prefix="kp-") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/supervisor.sock")
        listener.listen()
        monkeypatch.setenv("KAFKA_PARETO_STATE", folder)
        monkeypatch.setattr("kafka_pareto_embedded.lifecycle.supervision._CALL_TIMEOUT_S", 0.01)
        stack = _stack(Path(folder))
        stack.record_ports()
        (stack.state / ".kafka-pareto-state").touch()
        yield stack


@pytest.mark.parametrize(
    ("started_with", "asked", "refused"),
    [
        ({"STUDIES": "/a"}, {"STUDIES": "/b"}, r"KAFKA_PARETO_STUDIES=/b: the stack is running with /a; first stop it"),
        ({"STUDIES": "/a"}, {}, r"KAFKA_PARETO_STUDIES=/.*/include/studies: the stack is running with /a; first stop"),
        ({}, {"NOTIFY": "log,slack:us"}, "KAFKA_PARETO_NOTIFY=log,slack:us: the stack is running with log; first stop"),
        ({"NOTIFY": "slack:us"}, {}, ""),
        ({"STUDIES": "/a", "NOTIFY": "slack:us"}, {"STUDIES": "/a", "NOTIFY": "slack:us"}, ""),
        (None, {"STUDIES": "/b", "NOTIFY": "slack:us"}, ""),  # started by an earlier version
    ],
)
def test_studies_and_receivers_other_than_those_of_the_running_stack_are_refused(
    silent_manager: Stack,
    monkeypatch: pytest.MonkeyPatch,
    started_with: dict[str, str] | None,
    asked: dict[str, str],
    refused: str,
) -> None:
    def choose(values: dict[str, str]) -> None:
        for name in ("STUDIES", "NOTIFY"):
            monkeypatch.delenv(f"KAFKA_PARETO_{name}", raising=False)
        for name, value in values.items():
            monkeypatch.setenv(f"KAFKA_PARETO_{name}", value)

    if started_with is not None:
        choose(started_with)
        silent_manager.record_settings()
    choose(asked)
    with pytest.raises((BadInputError, StackError), match=refused or "the process manager .* did not answer"):
        lifecycle.up(lambda _: None)


@pytest.mark.parametrize("has_ports", [True, False])
def test_a_process_manager_that_hangs_is_named_with_the_way_to_end_it(silent_manager: Stack, has_ports: bool) -> None:
    (silent_manager.state / "supervisord.pid").write_text("4711\n")
    if not has_ports:
        (silent_manager.state / "ports.json").write_text("{")
    said: list[str] = []
    with pytest.raises(StackError, match=r"still no answer, end it with `kill -9 4711`, which stops the stack"):
        lifecycle.down(said.append)
    assert said[-1] == "Stopping the stack …"
    assert any("ports.json: cannot be read" in line for line in said) != has_ports


def test_a_lock_that_cannot_be_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".lock").mkdir()
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
    with pytest.raises(StackError, match=rf"^{tmp_path}/\.lock: Is a directory; fix this, then run the same command"):
        lifecycle.down(lambda _: None)


def test_copies_that_cannot_be_removed_are_reported(tmp_path: Path) -> None:
    (tmp_path / "client-configs" / ".lock").mkdir(parents=True)
    said: list[str] = []
    lifecycle.sweep_credentials(Stack(tmp_path, Ports()), said.append)
    assert said[0].startswith(f"Copies of client.properties remain in {tmp_path}/client-configs until the next")


def test_a_process_manager_that_does_not_come_up_in_time_is_one_message_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_pareto_embedded.lifecycle.supervision._START_TIMEOUT_S", 0.001)
    with pytest.raises(StackError, match=r"the process manager did not start within .*supervisord\.log"):
        Supervisor(tmp_path).launch([], {})


def test_a_state_folder_behind_a_link_is_the_checkouts_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, link = tmp_path / "large-disk", tmp_path / ".state"
    (disk / "venv").mkdir(parents=True)
    link.symlink_to(disk)
    monkeypatch.setattr(lifecycle, "TOOLS", link)
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(link))
    lifecycle.claim(disk)
    lifecycle.clean(lambda _: None)
    assert link.is_symlink()
    assert list(link.iterdir()) == []


def test_a_full_disk_at_the_start_is_one_message_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
    monkeypatch.setattr(lifecycle, "start_problems", lambda *_: [])
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StackError, match=rf"^{tmp_path}/ports\.json: No space left on device; fix this, then"):
        lifecycle.up(lambda _: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kafka-pareto-state", ".lock"]


class HalfBroken(Supervisor):
    """A process manager with two programs that are down, the second of which cannot be started or stopped."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def processes(self) -> list[ProcessState]:
        return [ProcessState(name, "all", "EXITED", None, None, Path("log")) for name in ("one", "two", "three")]

    def start(self, process: ProcessState) -> None:
        self.calls.append(f"start {process.name}")
        if process.name == "two":
            raise StackError("two: no such file")

    def stop(self, process: ProcessState) -> None:
        self.calls.append(f"stop {process.name}")
        if process.name == "two":
            raise StackError("two: NOT_RUNNING")


def test_a_failed_repair_says_why_and_stops_only_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "migrate_database", lambda _: None)
    supervisor = HalfBroken()
    with pytest.raises(StackError, match="two: no such file"):
        lifecycle._repair(Stack(tmp_path, Ports()), supervisor, lambda _: None)
    assert supervisor.calls == ["start one", "start two", "stop one", "stop two"]


def _read_as_the_process_manager(folder: Path, programs: list[Program]) -> list[Any]:
    (folder / "logs").mkdir()
    file = folder / "supervisord.conf"
    file.write_text(render_configuration(folder, programs))
    options = ServerOptions()
    options.realize(["-c", str(file)])
    return sorted(options.process_group_configs)


def test_the_process_manager_reads_arguments_and_values_as_they_were_meant(tmp_path: Path) -> None:
    argv = ["/bin/echo", "a b", "50%", "x;y", "it's", "jars/*", '"']
    values = {"PLAIN": "1", "ODD": "a,b=c 50% d#e 'f';g", "URL": "sqlite:////x/y.db?timeout=30"}
    [group] = _read_as_the_process_manager(tmp_path, [Program("one", "all", argv, tmp_path, values)])
    [program] = group.process_configs
    assert shlex.split(program.command)[-len(argv) :] == argv
    assert program.environment == values


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        *((cut_short, "", "use another folder") for cut_short in ("a ;b", "a #b", "a\nb")),
        ("a", 'a"b', "VALUE: must not contain a double quote; write a connection as a URI"),
        *(
            ("a", f"secret{cut_short}", "VALUE: must not contain a line break, ' ;' or ' #'")
            for cut_short in (" ;", "\n")
        ),
    ],
)
def test_unusable_process_manager_values_are_refused_without_showing_variables(
    tmp_path: Path, argument: str, value: str, said: str
) -> None:
    with pytest.raises(StackError, match=said) as refused:
        render_configuration(tmp_path, [Program("one", "all", ["true", argument], tmp_path, {"VALUE": value})])
    assert "secret" not in str(refused.value)


def test_the_group_that_starts_last_is_stopped_first(tmp_path: Path) -> None:
    programs = [
        Program("kafka-1", "servers", ["true"], tmp_path, {}),
        Program("api", "airflow", ["true"], tmp_path, {}),
    ]
    groups = _read_as_the_process_manager(tmp_path, programs)
    assert [group.name for group in groups] == ["servers", "airflow"]


def test_the_ports_of_the_last_start_are_found_again(tmp_path: Path) -> None:
    environment = {"KAFKA_PARETO_STATE": str(tmp_path)}
    assert Stack.load(environment) is None
    stack = Stack(tmp_path, Ports(airflow=8090, kafka=(2001, 2002, 2003)))
    stack.record_ports()
    assert Stack.load(environment) == stack


def test_a_step_learns_the_stacks_addresses_from_its_environment(tmp_path: Path) -> None:
    stack = _stack(tmp_path, minio=9001)
    stack.brokers.mkdir()
    (stack.brokers / "cluster-id").write_text("drawn-here")
    environment = stack.step_environment()
    assert environment["KAFKA_PARETO_S3_ENDPOINT"] == "http://127.0.0.1:9001"
    assert environment["KAFKA_PARETO_S3_SECRET_KEY"] == stack.credentials.s3_pareto_secret_key
    assert environment["KAFKA_PARETO_MLFLOW_USERNAME"] == "kafka-pareto"
    assert environment["KAFKA_PARETO_MLFLOW_PASSWORD"] == stack.credentials.mlflow_steps_password
    assert environment["KAFKA_PARETO_BOOTSTRAP_SERVERS"] == "127.0.0.1:19092,127.0.0.1:19093,127.0.0.1:19094"
    assert environment["KAFKA_PARETO_OWN_CLUSTER_ID"] == "drawn-here"
    assert environment["KAFKA_PARETO_LOAD_MACHINES"] == "airflow"
    assert environment["KAFKA_PARETO_LOAD_CREDENTIALS"] == str(stack.state / "load-machines.pem")
    forbidden = (stack.credentials.minio_root_password, stack.credentials.mlflow_admin_password)
    assert not set(forbidden) & set(environment.values())
