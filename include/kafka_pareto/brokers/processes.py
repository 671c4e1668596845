"""Start child processes that end with their parent, even if it is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from kafka_pareto.errors import ClusterError

# If the parent dies before pdeathsig is set, there is no signal, but the child has a different parent.
_IF_PARENT_LIVES = 'test "$PPID" = "$0" && exec "$@"'
_LAST_LINES = 15
_LAST_BYTES = 64 * 1024


def tied(argv: Sequence[str], signal_name: str = "KILL") -> list[str]:
    """Wrap a command to send the child this signal when this process ends, even by SIGKILL.

    Raises:
        ClusterError: If util-linux's setpriv is missing.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise ClusterError("setpriv is not on the PATH, so child processes could outlive this one; install util-linux")
    return [setpriv, "--pdeathsig", signal_name, "--", "sh", "-c", _IF_PARENT_LIVES, str(os.getpid()), *argv]


class Opened(ABC):
    """A context of several parts, closed together, or as soon as one fails to open."""

    @abstractmethod
    def _open(self, opened: ExitStack) -> None:
        """Open the parts in order."""

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._open(opened)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


class Launcher:
    """Starts tied processes from a dedicated thread and kills them when the context is left.

    The kernel ties a child to the thread that started it, not to the process, and the caller's thread may end earlier.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="broker-launcher")
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()

    def start(
        self, argv: Sequence[str], folder: Path, environment: dict[str, str], log_file: Path
    ) -> subprocess.Popen[bytes]:
        """Start a process in the folder and append its output to the log file.

        Raises:
            ClusterError: If it cannot be started.
        """

        def start() -> subprocess.Popen[bytes]:
            with log_file.open("ab") as log:
                process = subprocess.Popen(
                    tied(argv),
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # on Ctrl-C the step may still need its brokers to clean up
                )
            self._children.append(process)  # recorded here, even if the caller is interrupted
            return process

        try:
            return self._thread.submit(start).result()
        except OSError as error:
            raise ClusterError(f"cannot start {argv[0]} in {folder}: {error.strerror}") from error


def last_lines(log_file: Path) -> str:
    """Return the tail of a process's output without stack frames."""
    said = log_file.read_bytes()[-_LAST_BYTES:].decode(errors="replace").splitlines()
    return "\n".join(without_frames(said)[-_LAST_LINES:])


def without_frames(lines: list[str]) -> list[str]:
    """Drop Java's stack frames and empty lines."""
    return [line for line in lines if line.strip() and not line.startswith(("\tat ", "\t... "))]
