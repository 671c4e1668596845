"""Starts programs as children that end with this process, and talks with them by lines of JSON."""

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
from typing import Any, BinaryIO

import psutil

from kafka_pareto.brokers.processes import tied
from kafka_pareto.errors import LoadStartError, LoadToolError

Line = dict[str, Any]
"""Is a line that a child says or is told: a JSON object."""

READY = "ready"
"""Is the key of the line that a child says once it can be used."""
_LAST_BYTES = 400
_LOOK_S = 0.1
_LISTENED_S = 2.0


class ChildProcess:
    """Is a program that runs. It is named in messages, and its standard error is kept for its last words.

    Args:
        name: As messages call it.
        argv: Its command line.
        environment: Its environment, whole.
        end_by: The signal that it gets when this process ends; one that has children of its own needs TERM.

    Attributes:
        name: As messages call it.
        said: The lines of JSON that it has said and that nobody has taken; all else on its standard output is passed
            over.

    Raises:
        LoadStartError: If it cannot be started.
    """

    def __init__(self, name: str, argv: Sequence[str], environment: Mapping[str, str], end_by: str = "KILL") -> None:
        self.name = name
        self.said: queue.SimpleQueue[Line] = queue.SimpleQueue()
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
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Returns its process id."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """Returns what it ended with; None while it runs."""
        return self._popen.poll()

    def last_words(self) -> str:
        """Returns the end of what it wrote to its standard error."""
        size = os.fstat(self._complaints.fileno()).st_size
        end = os.pread(self._complaints.fileno(), _LAST_BYTES, max(size - _LAST_BYTES, 0))
        return " ".join(end.decode(errors="replace").split()) or "it said nothing"

    def tell(self, line: Line) -> None:
        """Writes a line to its standard input.

        Raises:
            LoadToolError: If it has ended.
        """
        stdin = self._popen.stdin
        if stdin is None:
            raise RuntimeError(f"{self.name} has no standard input")
        try:
            stdin.write(json.dumps(line).encode() + b"\n")
            stdin.flush()
        except OSError as error:
            raise LoadToolError(f"{self.name} has ended: {self.last_words()}") from error

    def next_line(
        self, key: str, timeout_s: float, value: object = None, meanwhile: Callable[[], None] = lambda: None
    ) -> Line:
        """Returns the next line that has this key, and this value of it where one is given; others are passed over.

        Args:
            key: The key.
            timeout_s: How long it is waited for.
            value: None for any.
            meanwhile: Is called while nothing is said; may raise an error of its own.

        Raises:
            LoadStartError: If it was to say that it is ready, and did not.
            LoadToolError: If it says nothing of the kind in time, or has ended.
        """
        deadline = time.monotonic() + timeout_s
        kind = LoadStartError if key == READY else LoadToolError
        while True:
            code = self.exit_code
            try:
                said = self.said.get(timeout=_LOOK_S)
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
        """Makes sure that it runs.

        Raises:
            LoadToolError: With its last words, if it has ended.
        """
        if (code := self.exit_code) is not None:
            raise LoadToolError(f"{self.name} has ended with exit code {code}: {self.last_words()}")

    def cpu_s(self) -> float:
        """Returns the CPU time that it has used; 0 once it has ended."""
        try:
            used = psutil.Process(self.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(used.user + used.system)

    def kill(self) -> None:
        """Kills it with -9."""
        self._popen.kill()
        self._popen.wait()

    def ask_to_end(self) -> None:
        """Sends SIGTERM."""
        with suppress(OSError):
            self._popen.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> int | None:
        """Waits until it has ended, and returns what with; None if it has not in time."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(max(seconds, 0.0))
        return None

    def close(self) -> None:
        """Kills it if it still runs, and closes what was opened for it."""
        self.kill()
        # A grandchild that outlives it for a moment may still hold the pipe.
        self._listener.join(_LISTENED_S)
        for stream in (self._popen.stdin, self._complaints):
            with suppress(OSError):
                if stream is not None:
                    stream.close()

    def _listen(self) -> None:
        stdout = self._popen.stdout
        if stdout is None:
            raise RuntimeError(f"{self.name} has no standard output")
        with stdout:
            for line in stdout:
                try:
                    said = json.loads(line)
                except ValueError:
                    continue
                if isinstance(said, dict):
                    self.said.put(said)


def start_ready(
    name: str, argv: Sequence[str], environment: Mapping[str, str], within_s: float
) -> tuple[ChildProcess, Line]:
    """Starts a program and waits until it says that it is ready; returns both. One that does not is ended.

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
    """Runs a program to its end, as a child that ends with this process; returns its standard output.

    Raises:
        LoadStartError: If it cannot be started.
        LoadToolError: If it ends with an error, or does not end in time.
    """
    try:
        ended = subprocess.run(
            tied(argv), env=dict(environment), stdin=stdin, capture_output=True, timeout=within_s, check=False
        )
    except OSError as error:
        raise LoadStartError(f"{name}: cannot be started: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise LoadToolError(f"{name} did not end within {within_s:g} s") from error
    if ended.returncode:
        said = " ".join(ended.stderr.decode(errors="replace").split())[-_LAST_BYTES:]
        raise LoadToolError(f"{name} ended with exit code {ended.returncode}: {said}")
    return ended.stdout


def end_all(children: Iterable[ChildProcess], within_s: float) -> None:
    """Asks all to end, and kills what has not ended in time."""
    asked = list(children)
    for each in asked:
        each.ask_to_end()
    deadline = time.monotonic() + within_s
    for each in asked:
        each.wait(deadline - time.monotonic())
        each.close()
