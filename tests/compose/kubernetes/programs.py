"""Finds and runs the programs of the cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kafka_pareto_embedded.stack.stack import TOOLS
from tests.compose.engine import program_path
from tests.processes import end_process

NETWORK_PLUGINS = Path("/usr/lib/cni")
_HYPERKUBE = TOOLS / "kubernetes" / "hyperkube"
_DEBIAN_PROGRAMS = ("containerd", "ctr", "runc", "iptables", "ip")
_STOP_TIMEOUT_S = 30


def why_not() -> str:
    """Why this machine cannot run a cluster; empty if it can."""
    missing = [program for program in _DEBIAN_PROGRAMS if shutil.which(program, path=program_path()) is None]
    if not (NETWORK_PLUGINS / "bridge").exists():
        missing.append("containernetworking-plugins")
    if not _HYPERKUBE.exists():
        missing.append(str(_HYPERKUBE))
    packages = "docker.io iptables iproute2 containernetworking-plugins"
    return f"missing: {', '.join(missing)} (apt-get install {packages}; make test-kubernetes)" if missing else ""


@dataclass
class Programs:
    """The running programs, each with its log below the folder; used as a context, which ends them all."""

    folder: Path
    _started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started.values()):
            end_process(process, _STOP_TIMEOUT_S)

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Starts a component of the cluster or one of Debian's programs."""
        executable = shutil.which(name, path=program_path()) if name in _DEBIAN_PROGRAMS else str(_HYPERKUBE)
        with (self.folder / f"{name}.log").open("wb") as log:
            self._started[name] = subprocess.Popen(
                [name, *arguments],
                executable=executable,
                env={**os.environ, "PATH": program_path()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def stop(self, name: str) -> None:
        """Ends one before the others."""
        end_process(self._started.pop(name), _STOP_TIMEOUT_S)

    def require_running(self) -> None:
        """Raises AssertionError with the last lines of the log of one that has ended."""
        for name, process in self._started.items():
            said = (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]
            assert process.poll() is None, f"{name} has ended with {process.returncode}:\n{said}"


def run(*command: str) -> str:
    """Runs a command to its end, and returns its output.

    Raises:
        AssertionError: With its error output, if it fails.
    """
    done = subprocess.run(
        command, env={"PATH": program_path()}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout
