"""Run a load's Java program as a process that dies with its step. Its properties may be secret, so never on disk."""

from __future__ import annotations

import math
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, Self, TypeVar

from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.common.load_tool import Execution
from kafka_pareto.errors import BadInputError, LoadStartError, LoadToolError
from kafka_pareto.exit_codes import EXIT_BAD_INPUT
from kafka_pareto.kafka.client_properties import hidden, read_client_config, secrets_in
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import parse_properties, properties_lines
from kafka_pareto.settings import Settings

_WATCH_EVERY_S = 1.0
_NEVER_STARTED = (126, 127)  # exit codes of the shell: cannot be executed, cannot be found
_GRACE_S = 15.0
_MOST_CHARACTERS = 1000
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_VERSION_WITHIN_S = 30.0


class JvmRequest(Protocol):
    """One execution of a Java program."""

    @property
    def timeout_s(self) -> float:
        """Return the longest time it may take."""

    @property
    def timeout_key(self) -> str:
        """Return the study's key that sets this time; empty if the time is fixed."""

    @property
    def heap_mib(self) -> int:
        """Return the heap it needs, in MiB."""

    @property
    def client_properties(self) -> Mapping[str, Mapping[str, PropertyValue]]:
        """Return the properties of its clients, by the option that names each client's file."""


class JvmResult(Protocol):
    """The outcome of an execution."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def errors(self) -> str:
        """Return the first complaint; empty if there is none."""


Result = TypeVar("Result", bound=JvmResult)


class LoadProcess:
    """A Java program run as a subprocess that dies with this process, even on kill -9."""

    def __init__(
        self,
        bootstrap_servers: str,
        client_config: Path | None,
        settings: Settings,
        client_jars: Path | None = None,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._client_config = client_config
        self._settings = settings
        self._client_jars = client_jars

    def jvm_warmup_s(self, request: JvmRequest) -> float:  # noqa: ARG002 (a warm JVM's answer depends on it)
        """Return how long the JVM must send before measuring, to be equally warm for every request."""
        return 0.0

    def without_secrets(self, text: str) -> str:
        """Replace each secret of the client configuration in the text by `[hidden]`."""
        client = read_client_config(self._client_config) if self._client_config else ""
        return hidden(text, secrets_in(client))

    def close(self) -> None:
        """Do nothing: each load's process ends with the load."""

    def run(
        self,
        main_class: str,
        options: list[str],
        request: JvmRequest,
        watch: Callable[[], None] | None,
        read: Callable[[Execution], Result],
        follow: Callable[[str], None] | None = None,
    ) -> Result:
        """Run the class with the options and its clients' property files, and parse its output.

        Results and errors never contain secrets of the client configuration. `follow` receives, every second, the line
        in the file of the option `--progress`.

        Raises:
            BadInputError: If the client configuration cannot be read, or the tool rejects its input.
            ClusterError: If this machine has no setpriv.
            LoadToolError: If it cannot be started, fails, times out, or prints something unreadable.
        """
        client = read_client_config(self._client_config) if self._client_config else ""
        secrets = secrets_in(client)
        try:
            with ExitStack() as opened:
                all_options = list(options)
                for option, properties in request.client_properties.items():
                    # Rewritten in ASCII, since Kafka's own tool reads a properties file as ISO 8859-1.
                    own = {"bootstrap.servers": self._bootstrap_servers, **properties}
                    content = properties_lines({**parse_properties(client), **own}).encode("ascii")
                    all_options += [option, opened.enter_context(MemoryFile(content)).path]
                if follow:
                    progress = opened.enter_context(MemoryFile())
                    all_options += ["--progress", progress.path]
                    watch = _looking(watch, follow, progress)
                result = read(self._execute(main_class, all_options, request, watch, secrets))
        except LoadToolError as error:
            raise type(error)(hidden(str(error), secrets)) from None  # its cause would show the secrets
        return replace(result, errors=hidden(result.errors, secrets))

    def _execute(
        self,
        main_class: str,
        options: list[str],
        request: JvmRequest,
        watch: Callable[[], None] | None,
        secrets: list[str],
    ) -> Execution:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            argv = tied([*java_argv(self._settings, request, main_class, self._client_jars), *options])
            started = time.monotonic()
            process = start(argv, subprocess.DEVNULL, output.fileno(), errors)
            ended, cpu_s = _wait(process, request.timeout_s, watch)
            wall_s = time.monotonic() - started
            complaint = complaint_in(errors, 0, secrets)
            if not ended:
                raise timed_out(request, complaint)
            require_success(process.returncode, complaint)
            output.seek(0)
            return Execution(output.read().decode(errors="replace"), complaint, wall_s, cpu_s)


def java_argv(
    settings: Settings, request: JvmRequest, main_class: str, client_jars: Path | None = None, serving_s: float = 0.0
) -> list[str]:
    """Return the command line up to the program's own options.

    Anything secret is in the properties file. If its parent is gone, the program ends itself after a limit in whole
    minutes slightly above `LoadProcess`'s. A JVM that serves several requests may run `serving_s` longer. The classes
    in the folder `client_jars` take precedence over those of the bundled client.
    """
    limit_minutes = math.ceil((serving_s + request.timeout_s + _GRACE_S) / 60)
    # A JVM without this option still starts.
    limit = ["-XX:+IgnoreUnrecognizedVMOptions", f"-XX:SelfDestructTimer={limit_minutes}"]
    return [settings.java, *limit, *jvm_options(settings, request.heap_mib, client_jars), main_class]


def jvm_options(settings: Settings, heap_mib: int, client_jars: Path | None = None) -> list[str]:
    """Return the options of a JVM that runs our classes; those in `client_jars` take precedence."""
    class_path = ":".join(f"{folder}/*" for folder in (client_jars, settings.kafka_jars) if folder is not None)
    return [f"-Xmx{heap_mib}m", "-Duser.language=en", "-Duser.country=US", "-cp", class_path]


def start(argv: list[str], stdin: int, stdout: int, stderr: BinaryIO) -> subprocess.Popen[bytes]:
    """Start a process that dies with this one.

    Raises:
        LoadStartError: If it cannot be started.
    """
    try:
        return subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr, env=jvm_environment())
    except OSError as error:
        raise LoadStartError(f"the load generator cannot be started: {argv[0]}: {error.strerror}") from error


@cache
def java_version(java: str) -> int:
    """Return the feature version of a Java installation, such as 17.

    Raises:
        LoadStartError: If it does not start or prints no version.
    """
    argv = [java, "-version"]
    try:
        said = subprocess.run(
            argv, capture_output=True, text=True, timeout=_JAVA_VERSION_WITHIN_S, check=True, env=jvm_environment()
        ).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise LoadStartError(f"cannot read the version of {java}: {error}") from error
    found = _JAVA_VERSION.search(said)
    if found is None:
        raise LoadStartError(f"cannot read the version of {java}: {said[:100]!r}")
    return int(found[1])


def jvm_environment() -> dict[str, str]:
    """Return the environment of a load's JVM."""
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}


def require_success(exit_code: int, complaint: str) -> None:
    """Raise the error that matches a failed process's exit code.

    Raises:
        BadInputError: If its input cannot be used, with its one-line reason.
        LoadStartError: If it never began.
        LoadToolError: If it failed.
    """
    if exit_code == EXIT_BAD_INPUT:
        raise BadInputError(complaint)
    if exit_code in _NEVER_STARTED:
        raise LoadStartError(f"the load generator cannot be started: {complaint}")
    if exit_code != 0:
        raise LoadToolError(f"the load generator failed with exit code {exit_code}: {complaint}")


def timed_out(request: JvmRequest, complaint: str) -> LoadToolError:
    """Return the error of a load that was stopped at its timeout, with the tool's output, if any."""
    key = f" ({request.timeout_key})" if request.timeout_key else ""
    said = f"; its output: {complaint}" if complaint else ""
    return LoadToolError(f"the load generator did not finish within {request.timeout_s:g} s{key} and was stopped{said}")


def wait_until_readable(descriptor: int, deadline: float, watch: Callable[[], None] | None) -> bool:
    """Wait until the file descriptor can be read, or the deadline (monotonic clock); call the watch every second.

    Returns:
        Whether it can be read.
    """
    readable = select.poll()
    readable.register(descriptor, select.POLLIN)
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return False
        if readable.poll(1000 * (min(remaining, _WATCH_EVERY_S) if watch else remaining)):
            return True
        if watch:
            watch()


def _wait(process: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[], None] | None) -> tuple[bool, float]:
    """Return whether the process ended in time, and its CPU time in seconds.

    Its file descriptor is polled, since `Popen.wait` sleeps up to 50 ms. `Popen.kill` could collect the process, and
    with it the CPU time; the growth of `RUSAGE_CHILDREN` would include a broker that ends meanwhile.
    """
    descriptor = os.pidfd_open(process.pid)
    try:
        ended = wait_until_readable(descriptor, time.monotonic() + timeout_s, watch)
    finally:
        os.close(descriptor)
        os.kill(process.pid, signal.SIGKILL)  # harmless if it has already ended
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return ended, usage.ru_utime + usage.ru_stime


def _looking(
    watch: Callable[[], None] | None, follow: Callable[[str], None], progress: MemoryFile
) -> Callable[[], None]:
    """Return a watch that also delivers the line in the progress file."""

    def look() -> None:
        if watch:
            watch()
        line = progress.read().decode(errors="replace")
        if line.endswith("\n"):  # else it is still being written
            follow(line.removesuffix("\n"))

    return look


def complaint_in(errors: BinaryIO, offset: int, secrets: list[str]) -> str:
    """Return the most informative line of the tool's stderr from this offset on, without secrets.

    That is Kafka's own error if there is one, since the client logs vaguer lines before it; else the first line that is
    neither a stack frame nor about logging and, if possible, not a warning.
    """
    errors.seek(offset)
    said = hidden(errors.read().decode(errors="replace"), secrets)  # before it is cut, or part of a secret would remain
    stripped = [line.strip() for line in said.splitlines()]
    saying = [line for line in stripped if line and not line.startswith(("at ", "SLF4J", "WARNING:", "..."))]
    telling = [line for line in saying if "org.apache.kafka.common.errors." in line]
    graver = [line for line in saying if "] WARN " not in line]  # client warnings precede the tool's reason for its end
    return next(iter(telling or graver or saying), "")[:_MOST_CHARACTERS]


class MemoryFile:
    """A file in this process's memory. Processes of the same user can open it by its path while it is open here."""

    def __init__(self, content: bytes = b"") -> None:
        self._file = os.fdopen(os.memfd_create("kafka-pareto"), "w+b", buffering=0)
        os.fchmod(self._file.fileno(), 0o600)
        self._file.write(content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def path(self) -> str:
        """Return its path as seen by a child process."""
        return f"/proc/{os.getpid()}/fd/{self._file.fileno()}"

    def read(self) -> bytes:
        """Return its current content."""
        size = os.fstat(self._file.fileno()).st_size
        return os.pread(self._file.fileno(), size, 0)
