"""The processes of a killed program, and those of a stack that could not end them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kafka_pareto_embedded.bootstrap.ports import Ports
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.lifecycle.waiting import holds_within
from kafka_pareto_embedded.programs import mlflow_server
from kafka_pareto_embedded.programs.preparation import migrate_database
from kafka_pareto_embedded.programs.programs import tied_to_parent
from kafka_pareto_embedded.stack.credentials import Credentials, write_credentials
from kafka_pareto_embedded.stack.stack import Stack
from tests.processes import command_lines

pytestmark = [pytest.mark.fast, pytest.mark.slow]

DIES_WITH_ITS_PARENT = """
import os, signal, sys, time
from kafka_pareto_embedded.programs.scheduler import ForkTie
parent = os.getpid()
tie_too_late = sys.argv[1] == "killed before the tie"
def outlive_parent():
    while os.getppid() == parent:
        time.sleep(0.001)
if tie_too_late:
    os.register_at_fork(after_in_child=outlive_parent)
ForkTie()
tied, say_tied = os.pipe()
if os.fork():
    if not tie_too_late:
        os.read(tied, 1)
    os.kill(parent, signal.SIGKILL)
os.write(say_tied, b"x")
if not tie_too_late:
    outlive_parent()
print("outlived its parent", flush=True)
"""


@pytest.mark.parametrize("moment", ["killed before the tie", "killed after the tie"])
def test_a_forked_process_ends_with_its_parent_whenever_that_is_killed(moment: str) -> None:
    argv = [sys.executable, "-c", DIES_WITH_ITS_PARENT, moment]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=30, check=False)

    # The pipes are closed: whatever held them, the forked process too, has ended.
    assert done.returncode == -signal.SIGKILL
    assert (done.stdout, done.stderr) == ("", "")


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[psutil.Process]:
    """A process with the home of a stack and the name of a program, whose group leader was killed."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 600 > /dev/null & echo $!; kill -9 $$"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "SUPERVISOR_PROCESS_NAME": "mlflow"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    process = psutil.Process(int(shell.communicate(timeout=30)[0]))
    yield process
    with suppress(psutil.NoSuchProcess):
        process.kill()


def test_down_ends_a_child_whose_leader_was_killed_with_the_manager(
    orphan: psutil.Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
    said: list[str] = []
    lifecycle.down(said.append)
    assert command_lines([orphan]) == []
    assert said == ["Stopped leftover processes."]


def test_a_killed_process_has_ended_though_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, subprocess, sys; child = subprocess.Popen(['sleep', '600'], env={'HOME': sys.argv[1]})\n"
    code += "print(child.pid, flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", code, str(tmp_path / "home")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        left = psutil.Process(int(parent.stdout.readline()))
        assert holds_within(5, lambda: "HOME" in left.environ(), 0.01)  # empty while the kernel still loads the program
        monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
        lifecycle.down(lambda _: None)
        # A zombie, as its parent does not wait for it; killed, it may be on its way there for a moment.
        assert holds_within(5, lambda: left.status() == psutil.STATUS_ZOMBIE, 0.01)
        assert parent.stdin is not None
        parent.stdin.close()


def test_who_ends_leftovers_from_a_home_of_the_stack_spares_itself_and_its_callers(tmp_path: Path) -> None:
    code = "import sys, pathlib\nfrom kafka_pareto_embedded.lifecycle.supervision import Supervisor\n"
    code += "sys.exit(Supervisor(pathlib.Path(sys.argv[1])).end_leftovers())"
    command = ["/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", code, str(tmp_path)]
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(command, env=environment, timeout=60, check=True)


def test_a_tracking_server_ends_only_processes_of_its_own_program(
    orphan: psutil.Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SUPERVISOR_PROCESS_NAME", raising=False)
    monkeypatch.setattr(os, "execv", lambda *_: None)
    mlflow_server.main()  # by hand
    assert command_lines([orphan])
    monkeypatch.setenv("SUPERVISOR_PROCESS_NAME", "mlflow")
    mlflow_server.main()
    assert command_lines([orphan]) == []


def test_a_process_that_has_ended_meanwhile_does_not_keep_the_tracking_server_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    left_behind = psutil.Process(child.pid)
    child.communicate()
    became: list[list[str]] = []
    monkeypatch.setattr(psutil, "process_iter", lambda: [left_behind])
    monkeypatch.setattr(mlflow_server, "_is_left_behind", lambda _: True)
    monkeypatch.setattr(os, "execv", lambda _, argv: became.append(argv))
    mlflow_server.main()

    assert became[0][1:3] == ["-m", "mlflow"]


def test_a_migration_of_airflows_database_ends_with_the_command_that_began_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("airflow", "logs"):
        (tmp_path / name).mkdir()
    stack = Stack(tmp_path, Ports())
    write_credentials(stack.secrets_file, Credentials())
    ran: list[list[str]] = []

    def run(argv: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        ran.append(argv)
        return subprocess.CompletedProcess(argv, 0)

    monkeypatch.setattr(subprocess, "run", run)
    migrate_database(stack)
    assert ran == [tied_to_parent([sys.executable, "-m", "airflow", "db", "migrate"])]


def test_without_setpriv_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(StackError, match="setpriv is not on the PATH; install util-linux"):
        tied_to_parent(["minio"])
