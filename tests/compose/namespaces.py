"""Runs a command in process, mount and network namespaces of its own: `python -m tests.compose.namespaces COMMAND …`.

An engine changes the rules, bridges and mounts of its machine. In here they are nobody else's: the kernel takes them
back when the command ends, and ends whatever it started, even if all of it was killed. slirp4netns is the way out.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

_PROGRAMS = ("unshare", "setpriv", "slirp4netns")
_WITH_THIS_PROCESS = ("setpriv", "--pdeathsig", "KILL", "--")
_INSIDE = "--inside"


def why_not() -> str:
    """Why this machine cannot do it; empty if it can."""
    if os.geteuid() != 0:
        return "namespaces need root"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    return f"missing: {', '.join(missing)} (apt-get install util-linux slirp4netns)" if missing else ""


def is_inside() -> bool:
    """Whether this process runs in such namespaces."""
    return __name__ in Path("/proc/1/cmdline").read_text(encoding="utf-8").split("\0")


def main() -> int:
    """Runs the command and returns its exit code; where there can be no namespaces, without them."""
    if sys.argv[1] == _INSIDE:
        return _run_as_init(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    reason = why_not()
    if reason:
        print(f"Without namespaces: {reason}.", file=sys.stderr, flush=True)
        return subprocess.run(sys.argv[1:], check=False).returncode
    unshared, connected = os.pipe(), os.pipe()
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    again = [sys.executable, "-m", "tests.compose.namespaces", _INSIDE, str(unshared[1]), str(connected[0])]
    inside = subprocess.Popen(
        [*_WITH_THIS_PROCESS, *unshare, *again, *sys.argv[1:]], pass_fds=[unshared[1], connected[0]]
    )
    # An interruption reaches the command itself, which ends in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(unshared[1])
    os.read(unshared[0], 1)
    slirp = ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", f"--ready-fd={connected[1]}"]
    way_out = subprocess.Popen(
        [*_WITH_THIS_PROCESS, *slirp, str(inside.pid), "tap0"],
        pass_fds=[connected[1]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(connected[1])
    try:
        return inside.wait()
    finally:
        way_out.terminate()
        way_out.wait()


def _run_as_init(unshared: int, connected: int, command: list[str]) -> int:
    """What the first process of the namespaces does: waits for the way out, runs the command, reaps orphans."""
    os.write(unshared, b"1")
    os.close(unshared)
    if not os.read(connected, 1):
        print("slirp4netns gave the namespace no way out", file=sys.stderr)
        return 1
    os.close(connected)
    started = subprocess.Popen(command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pid, status = os.wait()
        if pid == started.pid:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
