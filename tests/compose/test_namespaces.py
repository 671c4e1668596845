"""Namespaces of a command's own: what it changes stays in them, and ends with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.compose import namespaces

_COMMAND = [sys.executable, "-m", "tests.compose.namespaces", sys.executable, "-c"]
_MESS = """
import subprocess, sys
subprocess.run(["iptables", "--new-chain", "LEFT"], check=True)
subprocess.run(["mount", "-t", "tmpfs", "none", sys.argv[1]], check=True)
orphan = subprocess.Popen(["sleep", "600"], start_new_session=True)
print("made", flush=True)
orphan.wait()
"""

pytestmark = [
    pytest.mark.compose,
    pytest.mark.skipif(not namespaces.is_inside(), reason="make test-compose runs these tests where they can run"),
]


def test_a_command_that_is_killed_leaves_no_process_and_no_change_of_the_machine(tmp_path: Path) -> None:
    with subprocess.Popen([*_COMMAND, _MESS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "made\n"
        below = psutil.Process(run.pid).children(recursive=True)
        assert "sleep" in [process.name() for process in below]
        run.kill()
        _gone, left = psutil.wait_procs(below, timeout=20)
        assert left == []
    assert not tmp_path.is_mount()
    rules = subprocess.run(["iptables", "--list-rules"], check=True, capture_output=True, text=True).stdout
    assert "LEFT" not in rules


def test_the_commands_exit_code_is_returned_and_only_it_is_waited_for() -> None:
    orphan = "import subprocess, sys; subprocess.Popen(['sleep', '600'], start_new_session=True); sys.exit(7)"
    assert subprocess.run([*_COMMAND, orphan], check=False, timeout=60).returncode == 7
