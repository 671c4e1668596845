"""Every command answers scripts with JSON, and its help ends with examples and exit codes."""

from __future__ import annotations

import errno
import getpass
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_cli.app import app
from kafka_pareto_cli.replies import replying
from kafka_pareto_embedded.bootstrap.ports import VARIABLES
from kafka_pareto_embedded.terminal.reply import Reply
from tests.unit.embedded.test_rollout import activate

pytestmark = pytest.mark.fast

COMMANDS = typer.main.get_group(app).commands


def replied(*arguments: str) -> tuple[int, dict[str, Any], str]:
    """The exit code, the object on stdout, and stderr."""
    done = CliRunner().invoke(app, [*arguments, "--json"])
    return done.exit_code, json.loads(done.stdout), done.stderr


@pytest.fixture(autouse=True)
def _no_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("KAFKA_PARETO_STORE_FOLDER", raising=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json(name: str) -> None:
    options = [option for each in COMMANDS[name].params for option in each.opts]
    assert "--json" in options, f"give {name} the decorator `replying`"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_ends_with_examples_and_exit_codes(name: str) -> None:
    said = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).stdout
    end = said[said.index("Examples:") :]
    assert f"kafka-pareto {name}" in end
    assert re.search("Exit codes: 0 (done|all )", end)
    epilog = COMMANDS[name].epilog or ""
    for example in [line.split() for line in epilog.splitlines() if line.startswith("  kafka-pareto ")]:
        command = COMMANDS[example[1]]
        with click.Context(command, info_name=example[1]) as context:
            assert command.make_parser(context).parse_args(example[2:])


def test_a_reply_is_alone_on_stdout_and_keeps_the_exit_code() -> None:
    single = typer.Typer()

    @single.command()
    @replying
    def ends() -> Reply:
        print("progress")
        return Reply({"error": "measure failed"}, 1)

    done = CliRunner().invoke(single, ["--json"])
    assert (done.exit_code, done.stderr) == (1, "progress\n")
    assert json.loads(done.stdout) == {"error": "measure failed", "exit_code": 1}
    done = CliRunner().invoke(single, [])
    assert (done.exit_code, done.stdout, done.stderr) == (1, "progress\n", "")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/x/y"), "/x/y: No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
    ],
)
def test_a_fault_of_the_machine_is_one_message(error: OSError, message: str) -> None:
    single = typer.Typer()

    @single.command()
    @replying
    def fails() -> Reply:
        raise error

    done = CliRunner().invoke(single, ["--json"])
    assert (done.exit_code, done.stderr) == (75, f"error: {message}\n")
    assert json.loads(done.stdout) == {"error": message, "exit_code": 75}


def test_down_and_clean_say_whether_there_was_anything(tmp_path: Path) -> None:
    assert replied("down") == (0, {"stopped": False}, "")
    assert replied("clean") == (0, {"removed": None}, "")
    state = tmp_path / "state"
    state.mkdir()
    (state / ".kafka-pareto-state").touch()
    assert replied("clean") == (0, {"removed": str(state)}, f"Removed {state}.\n")


def test_a_refused_start_is_an_error_object_and_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLES["airflow"], "eighty")
    message = f"{VARIABLES['airflow']}=eighty: must be a port from 1024 to 65535"
    with tempfile.TemporaryDirectory() as short:  # the path of pytest's own folder is too long for a socket
        monkeypatch.setenv("KAFKA_PARETO_STATE", short)
        assert replied("up") == (65, {"error": message, "exit_code": 65}, f"error: {message}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "nowhere"],
        ["retune", "quick"],
        ["remove-topics"],
        ["rollback", "quick", "--record-size", "1024"],
        ["active", "quick"],
        ["result", "quick"],
    ],
)
def test_without_a_stack_each_command_that_needs_it_reports_that_in_its_object(arguments: list[str]) -> None:
    code, reply, said = replied(*arguments)
    assert (code, reply["exit_code"]) == (75, 75)
    assert reply["error"] == "the stack is down; start it with `kafka-pareto up`, then run the same command again"
    assert said == f"error: {reply['error']}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest", "rows.csv", "kafka-pareto.mine"],
        ["plan", "quikc"],
        ["run", "quick"],
        ["doctor", "--producer", "/none"],
    ],
)
def test_bad_input_is_an_error_object(arguments: list[str]) -> None:
    code, reply, said = replied(*arguments)
    assert (code, reply["exit_code"]) == (65, 65)
    assert said.splitlines() == [f"error: {line}" for line in reply["error"].splitlines()]


def test_another_user_can_read_the_files_of_active_settings(tmp_path: Path) -> None:
    activate(FolderStore(tmp_path / "store"), "steady", "8192")
    arguments = ["active", "steady", "--store", str(tmp_path / "store"), "--folder", str(tmp_path / "new" / "files")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    copied = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert {(path.is_dir(), path.stat().st_mode & 0o777) for path in copied} == {(True, 0o755), (False, 0o644)}


def test_a_rollback_replies_with_the_active_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: {}["pwd has no such user ID"])
    activate(FolderStore(tmp_path / "store"), "steady", "8192")
    code, reply, said = replied("rollback", "steady", "--record-size", "8192", "--store", str(tmp_path / "store"))
    assert (code, list(reply)) == (0, ["active"])
    assert (reply["active"]["version"], reply["active"]["is_baseline"]) == (2, True)
    assert reply["active"]["accepted_by"] == str(os.getuid())
    assert said.startswith("8,192 B: version 2 since ")
