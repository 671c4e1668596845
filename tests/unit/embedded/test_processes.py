"""What becomes of a program's own processes when it is killed, and of a stack that could not see to that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.programs import mlflow_server
from kafka_pareto_embedded.programs.programs import tied_to_parent

pytestmark = pytest.mark.fast

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


def test_what_has_ended_by_itself_meanwhile_does_not_keep_the_tracking_server_from_starting(
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


def test_without_setpriv_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(StackError, match="setpriv is not on the PATH; install util-linux"):
        tied_to_parent(["minio"])
