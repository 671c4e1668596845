"""Runs a command in process, mount and network namespaces of its own: `python -m tests.compose.namespaces COMMAND …`.

An engine changes the rules, bridges and mounts of its machine. In here they are nobody else's: the kernel takes them
back when the command ends, and ends whatever it started, even if all of it was killed. Files stay, and so do empty
control groups. slirp4netns is the way out: to any other machine, but not to this one's loopback.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_PROGRAMS = ("unshare", "setpriv", "slirp4netns")
_UNSHARE = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
_SLIRP = ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback"]
_WITH_THIS_PROCESS = ["setpriv", "--pdeathsig", "KILL", "--"]
_INSIDE = "--inside"
RESOLVER = Path("/etc/resolv.conf")
_RESOLVER_OF_SLIRP = "nameserver 10.0.2.3\n"


def why_not() -> str:
    """Why this machine cannot do it; empty if it can."""
    if os.geteuid() != 0:
        return "namespaces need root"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"missing: {', '.join(missing)} (apt-get install util-linux slirp4netns)"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun, through which slirp4netns sends"
    tried = subprocess.run([*_UNSHARE, "true"], capture_output=True, text=True, timeout=30, check=False)
    return (tried.stderr.strip() or f"unshare ended with {tried.returncode}") if tried.returncode else ""


def is_inside() -> bool:
    """Whether this process runs in such namespaces."""
    try:
        first = Path("/proc/1/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return __name__.encode() in first and _INSIDE.encode() in first


def main() -> int:
    """Runs the command and returns its exit code; where there can be no namespaces, without them."""
    if sys.argv[1] == _INSIDE:
        return _run_as_init(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    reason = why_not()
    if reason:
        print(f"Without namespaces: {reason}.", file=sys.stderr, flush=True)
        return subprocess.run(sys.argv[1:], check=False).returncode
    (is_unshared, unshared), (is_connected, connected) = os.pipe(), os.pipe()
    again = [sys.executable, "-m", "tests.compose.namespaces", _INSIDE, str(unshared), str(is_connected)]
    inside = subprocess.Popen(
        [*_WITH_THIS_PROCESS, *_UNSHARE, *again, *sys.argv[1:]], pass_fds=[unshared, is_connected]
    )
    # An interruption reaches the command itself, which ends in its own time.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(unshared)
    if not os.read(is_unshared, 1):
        return inside.wait()
    way_out = subprocess.Popen(
        [*_WITH_THIS_PROCESS, *_SLIRP, f"--ready-fd={connected}", str(inside.pid), "tap0"],
        pass_fds=[connected],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(connected)
    try:
        return inside.wait()
    finally:
        way_out.terminate()
        way_out.wait()


def _run_as_init(unshared: int, is_connected: int, command: list[str]) -> int:
    """Runs as the first process of the namespaces: waits for the network, runs the command, reaps orphans."""
    os.write(unshared, b"1")
    os.close(unshared)
    if not os.read(is_connected, 1):
        print("slirp4netns gave the namespaces no way out", file=sys.stderr)
        return 1
    os.close(is_connected)
    if re.search(r"^nameserver\s+(127\.|::1)", RESOLVER.read_text(encoding="utf-8"), re.MULTILINE):
        _resolve_by_slirp()
    started = subprocess.Popen(command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        pid, status = os.wait()
        if pid == started.pid:
            return os.waitstatus_to_exitcode(status)


def _resolve_by_slirp() -> None:
    """Names are resolved by way of slirp4netns, since a resolver on the machine's loopback is out of reach."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(_RESOLVER_OF_SLIRP)
        file.flush()
        os.fchmod(file.fileno(), 0o644)
        subprocess.run(["mount", "--bind", file.name, str(RESOLVER.resolve())], check=True)


if __name__ == "__main__":
    sys.exit(main())
