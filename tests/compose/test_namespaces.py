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


def test_of_a_command_that_is_killed_no_process_mount_or_rule_is_left(tmp_path: Path) -> None:
    with subprocess.Popen([*_COMMAND, _MESS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        made = run.stdout.readline()
        below = psutil.Process(run.pid).children(recursive=True)
        names = [process.name() for process in below]
        run.kill()
        _gone, left = psutil.wait_procs(below, timeout=20)
    assert made == "made\n"
    assert "sleep" in names
    assert left == []
    assert not tmp_path.is_mount()
    rules = subprocess.run(["iptables", "--list-rules"], check=True, capture_output=True, text=True).stdout
    assert "LEFT" not in rules


def test_the_machines_resolver_is_replaced_by_slirps_inside_alone() -> None:
    before = namespaces.RESOLVER.read_text(encoding="utf-8")
    ask = "from tests.compose import namespaces; namespaces._resolve_by_slirp(); "
    ask += "print(namespaces.RESOLVER.read_text())"
    said = subprocess.run([*_COMMAND, ask], check=True, capture_output=True, text=True, timeout=60).stdout
    assert said.split() == ["nameserver", "10.0.2.3"]
    assert namespaces.RESOLVER.read_text(encoding="utf-8") == before


def test_the_commands_exit_code_is_returned_and_only_it_is_waited_for() -> None:
    orphan = "import subprocess, sys; subprocess.Popen(['sleep', '600'], start_new_session=True); sys.exit(7)"
    assert subprocess.run([*_COMMAND, orphan], check=False, timeout=60).returncode == 7
