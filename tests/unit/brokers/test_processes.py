"""Child processes that end with their parent; shells instead of brokers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kafka_pareto.brokers.own_folder import own_folder
from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.processes import Launcher, last_lines, tied
from kafka_pareto.errors import ClusterError

pytestmark = pytest.mark.fast

INCLUDE = Path(__file__).parents[3] / "include"
ABANDON = """
import sys
from kafka_pareto.brokers.own_folder import own_folder
with own_folder() as folder:
    (folder / "data").write_text("left behind")
    print(folder, flush=True)
    sys.stdin.read()
"""


def launch(launcher: Launcher, folder: Path) -> subprocess.Popen[bytes]:
    return launcher.start(["sleep", "600"], folder, {"PATH": os.environ["PATH"]}, folder / "log")


def test_tied_command_keeps_its_pid_and_arguments() -> None:
    with subprocess.Popen(tied(["sh", "-c", 'echo "$$ $1"', "sh", "a b"]), stdout=subprocess.PIPE) as process:
        output, _ = process.communicate(timeout=30)

    assert output.decode() == f"{process.pid} a b\n"


def test_child_whose_parent_died_before_the_tie_does_not_begin(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    other_parent = [str(os.getppid()) if word == str(os.getpid()) else word for word in tied(["touch", str(begun)])]

    assert subprocess.run(other_parent, timeout=30, check=False).returncode != 0
    assert not begun.exists()


@pytest.mark.slow
def test_child_outlives_the_thread_that_asked_for_it_and_ends_with_the_launcher(tmp_path: Path) -> None:
    with Launcher() as launcher:
        children: list[subprocess.Popen[bytes]] = []
        thread = threading.Thread(target=lambda: children.append(launch(launcher, tmp_path)))
        thread.start()
        thread.join()
        with pytest.raises(subprocess.TimeoutExpired):
            children[0].wait(0.3)

    assert children[0].returncode == -signal.SIGKILL


def test_child_is_deaf_to_the_terminals_interrupt(tmp_path: Path) -> None:
    with Launcher() as launcher:
        child = launch(launcher, tmp_path)
        assert os.getpgid(child.pid) != os.getpgid(0)


def test_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with Launcher() as launcher, pytest.raises(ClusterError, match=r"cannot start true in .*: No such file"):
        launcher.start(["true"], tmp_path / "nowhere", {}, tmp_path / "log")


def test_last_lines_leave_out_stack_frames(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n\tat some.Frame\n\n" for number in range(20)))

    assert last_lines(log).splitlines() == [f"line {number}" for number in range(5, 20)]


def test_free_ports_differ_and_no_outgoing_connection_can_take_them() -> None:
    low, high = (int(text) for text in Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())

    ports = free_ports(20)

    assert len(set(ports)) == 20
    assert not [port for port in ports if low <= port <= high]
    assert not [port for port in ports if is_listening(port)]


def test_a_drawn_port_is_nobody_elses_until_its_server_begins() -> None:
    (port,) = free_ports(1)

    with socket.socket() as another_draw, pytest.raises(OSError, match="already in use"):
        another_draw.bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)):  # as servers do, with SO_REUSEADDR
        assert is_listening(port)


def test_port_with_a_server_is_listening() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert is_listening(server.getsockname()[1])


def test_own_folder_is_private_and_gone_at_the_end() -> None:
    with own_folder() as folder:
        (folder / "data").write_text("x")
        assert folder.stat().st_mode & 0o777 == 0o700

    assert not folder.exists()


def test_folder_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(INCLUDE)}
    with subprocess.Popen(
        [sys.executable, "-c", ABANDON], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().decode().strip())
        with own_folder():
            assert (left / "data").read_text() == "left behind"
        process.kill()

    assert left.exists()
    with own_folder() as folder:
        assert list(tmp_path.iterdir()) == [folder]
