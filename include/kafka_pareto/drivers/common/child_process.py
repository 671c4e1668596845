"""Child processes that end with this process and exchange lines of JSON with it."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from subprocess import DEVNULL
from typing import Any, BinaryIO, cast

import psutil

from kafka_pareto.brokers.processes import tied
from kafka_pareto.errors import LoadStartError, LoadToolError

Line = dict[str, Any]
"""A line to or from a child: a JSON object."""

READY = "ready"
"""The key of the line by which a child reports that it is ready."""
_LAST_BYTES = 400
_LOOK_S = 0.1
_LISTENED_S = 2.0


class ChildProcess:
    """A running program. Only output lines that are JSON objects count; its standard error is kept for messages.

    Args:
        name: Used in messages.
        argv: Its command line.
        environment: Its whole environment.
        end_by: The signal it gets when this process ends; one with children of its own needs TERM.

    Attributes:
        name: Used in messages.

    Raises:
        LoadStartError: If it cannot be started.
    """

    def __init__(self, name: str, argv: Sequence[str], environment: Mapping[str, str], end_by: str = "KILL") -> None:
        self.name = name
        self._said: queue.SimpleQueue[Line] = queue.SimpleQueue()
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the process has ended)
        try:
            self._popen = subprocess.Popen(
                tied(argv, end_by),
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
            )
        except OSError as error:
            self._complaints.close()
            raise LoadStartError(f"{name}: cannot be started: {error}") from error
        self._stdin, stdout = cast("tuple[BinaryIO, BinaryIO]", (self._popen.stdin, self._popen.stdout))
        self._listener = threading.Thread(target=self._listen, args=(stdout,), daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Return its process ID."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """Return its exit code; None while it runs."""
        return self._popen.poll()

    def last_words(self) -> str:
        """Return the end of its standard error."""
        size = os.fstat(self._complaints.fileno()).st_size
        end = os.pread(self._complaints.fileno(), _LAST_BYTES, max(size - _LAST_BYTES, 0))
        return " ".join(end.decode(errors="replace").split()) or "it printed nothing"

    def tell(self, line: Line) -> None:
        """Write a line to its standard input.

        Raises:
            LoadToolError: If it has ended.
        """
        try:
            self._stdin.write(json.dumps(line).encode() + b"\n")
            self._stdin.flush()
        except OSError as error:
            raise LoadToolError(f"{self.name} has ended: {self.last_words()}") from error

    def next_line(
        self, key: str, timeout_s: float, value: object = None, meanwhile: Callable[[], None] = lambda: None
    ) -> Line:
        """Return the next line with this key and, if given, this value; discard others.

        Args:
            key: The key.
            timeout_s: The longest wait.
            value: None for any.
            meanwhile: Called repeatedly while waiting; may raise.

        Raises:
            LoadStartError: If the program was expected to report that it is ready, and did not.
            LoadToolError: If no such line arrives in time, or the program has ended.
        """
        deadline = time.monotonic() + timeout_s
        kind = LoadStartError if key == READY else LoadToolError
        while True:
            code = self.exit_code
            try:
                said = self._said.get(timeout=_LOOK_S)
            except queue.Empty:
                if code is not None:
                    raise kind(f"{self.name} has ended with exit code {code}: {self.last_words()}") from None
                meanwhile()
                if time.monotonic() > deadline:
                    raise kind(f"{self.name} did not answer within {timeout_s:g} s: {self.last_words()}") from None
                continue
            if key in said and value in (None, said[key]):
                return said

    def require_running(self) -> None:
        """Check that it still runs.

        Raises:
            LoadToolError: With its last words, if it has ended.
        """
        if (code := self.exit_code) is not None:
            raise LoadToolError(f"{self.name} has ended with exit code {code}: {self.last_words()}")

    def cpu_s(self) -> float:
        """Return the CPU time it has used, in seconds; 0 once it has ended."""
        try:
            used = psutil.Process(self.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(used.user + used.system)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._popen.kill()
        self._popen.wait()

    def ask_to_end(self) -> None:
        """Send SIGTERM."""
        with suppress(OSError):
            self._popen.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> int | None:
        """Wait until it ends and return the exit code; None after a timeout."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(max(seconds, 0.0))
        return None

    def close(self) -> None:
        """Kill it if it still runs, and close its files."""
        self.kill()
        # A grandchild that outlives it for a moment may still have the pipe open.
        self._listener.join(_LISTENED_S)
        for stream in (self._stdin, self._complaints):
            with suppress(OSError):
                stream.close()

    def _listen(self, stdout: BinaryIO) -> None:
        with stdout:
            for line in stdout:
                try:
                    said = json.loads(line)
                except ValueError:
                    continue
                if isinstance(said, dict):
                    self._said.put(said)


def start_ready(
    name: str, argv: Sequence[str], environment: Mapping[str, str], within_s: float
) -> tuple[ChildProcess, Line]:
    """Start a program and wait for its ready line; return both. Kill it if the line does not come.

    Raises:
        LoadStartError: If it cannot be started, or does not become ready.
    """
    child = ChildProcess(name, argv, environment)
    try:
        return child, child.next_line(READY, within_s)
    except BaseException:
        child.close()
        raise


def run_to_end(
    name: str, argv: Sequence[str], environment: Mapping[str, str], within_s: float, stdin: int | BinaryIO = DEVNULL
) -> bytes:
    """Run a program to its end and return its standard output.

    Raises:
        LoadStartError: If it cannot be started.
        LoadToolError: If it fails or times out.
    """
    try:
        ended = subprocess.run(
            tied(argv), env=dict(environment), stdin=stdin, capture_output=True, timeout=within_s, check=False
        )
    except OSError as error:
        raise LoadStartError(f"{name}: cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise LoadToolError(f"{name} did not finish within {within_s:g} s") from error
    if ended.returncode:
        said = " ".join(ended.stderr.decode(errors="replace").split())[-_LAST_BYTES:]
        raise LoadToolError(f"{name} ended with exit code {ended.returncode}: {said}")
    return ended.stdout


def end_all(children: Iterable[ChildProcess], within_s: float) -> None:
    """Send SIGTERM to all, and SIGKILL to those still running after `within_s`."""
    asked = list(children)
    for each in asked:
        each.ask_to_end()
    deadline = time.monotonic() + within_s
    for each in asked:
        each.wait(deadline - time.monotonic())
        each.close()
