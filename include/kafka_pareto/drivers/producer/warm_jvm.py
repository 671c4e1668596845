"""Run loads one after another in a warm JVM, which dies with its step."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.common.jvm_process import (
    JvmRequest,
    LoadProcess,
    complaint_in,
    java_argv,
    require_success,
    start,
    timed_out,
    wait_until_readable,
)
from kafka_pareto.drivers.common.load_tool import Execution
from kafka_pareto.errors import LoadToolError
from kafka_pareto.settings import Settings

# The client's CPU time per record of 1,024 B fell from about 30 to 10 µs in the first five seconds of sending, and
# little afterwards (Java 17, two cores under background load).
JVM_WARMUP_S = 5.0
MOST_LOADS = 250
LONGEST_LIFE_S = 3_600.0

_CHUNK_BYTES = 65_536
_DUMP_WITHIN_S = 2.0

log = logging.getLogger(__name__)


class _Answer(BaseModel):
    """The server's addition to an answer of the load generator, or its own answer."""

    process_cpu_s: Annotated[FiniteFloat, Field(ge=0)]
    failure: str | None = None


class WarmLoadProcess(LoadProcess):
    """Keep a JVM that serves the loads, and replace it when needed.

    It is replaced after a load without an answer (a timeout, an error of the watch, a JVM that ended), after
    `MOST_LOADS` loads or an hour, and for a load that needs a larger heap; not after a reported failure. The JVM is
    killed with the thread that started it, and ends with its stdin, so one thread sends all requests.
    """

    _jvm: _Jvm | None = None

    def jvm_warmup_s(self, request: JvmRequest) -> float:
        """Return how long a new JVM must send first; 0 if a warm one takes the request."""
        return 0.0 if self._jvm is not None and self._jvm.can_take(request) else JVM_WARMUP_S

    def close(self) -> None:
        """End the JVM, whatever it is doing."""
        if self._jvm is not None:
            self._jvm.close()
        self._jvm = None

    def _execute(
        self,
        main_class: str,
        options: list[str],
        request: JvmRequest,
        watch: Callable[[], None] | None,
        secrets: list[str],
    ) -> Execution:
        started = time.monotonic()
        if self._jvm is None or not self._jvm.can_take(request):
            self.close()
            self._jvm = _Jvm(self._settings, request, main_class, self._client_jars)
        try:
            line, complaint = self._jvm.ask(options, request, watch, secrets)
            answer = _Answer.model_validate_json(line)
        except ValidationError as error:
            self.close()
            raise LoadToolError(f"the load generator's answer is unreadable; it ends with {line[-200:]!r}") from error
        except BaseException:
            self.close()
            raise
        if answer.failure is not None:
            raise LoadToolError(f"the load generator failed: {answer.failure}")
        return Execution(line, complaint, time.monotonic() - started, answer.process_cpu_s)


class _Jvm:
    """One server process, and the settings it was started with."""

    def __init__(self, settings: Settings, request: JvmRequest, main_class: str, client_jars: Path | None) -> None:
        self._heap_mib = request.heap_mib
        self._started = time.monotonic()
        self._loads = 0
        self._unread = b""
        argv = tied(java_argv(settings, request, main_class, client_jars, LONGEST_LIFE_S))
        with ExitStack() as opened:
            self._errors = opened.enter_context(tempfile.TemporaryFile())
            self._socket, servers_end = (opened.enter_context(end) for end in socket.socketpair())
            self._process = start(argv, servers_end.fileno(), servers_end.fileno(), self._errors)
            servers_end.close()  # else the server's end would be no end of the connection
            self._opened = opened.pop_all()

    def can_take(self, request: JvmRequest) -> bool:
        """Return whether it runs, is not worn out, and has the heap for this request."""
        is_worn = self._loads >= MOST_LOADS or time.monotonic() - self._started > LONGEST_LIFE_S
        return not is_worn and self._heap_mib >= request.heap_mib and self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._opened.close()

    def ask(
        self, options: list[str], request: JvmRequest, watch: Callable[[], None] | None, secrets: list[str]
    ) -> tuple[str, str]:
        """Return its answer line, and the first complaint since the request.

        Raises:
            LoadToolError: If it times out or ends.
        """
        # Output before the first request concerns its start, which is part of the first load.
        said_before = os.fstat(self._errors.fileno()).st_size if self._loads else 0
        self._loads += 1
        deadline = time.monotonic() + request.timeout_s
        with suppress(ConnectionError):  # if it has ended, reading reports it
            self._socket.sendall(json.dumps(options).encode() + b"\n")
        while b"\n" not in self._unread:
            if not wait_until_readable(self._socket.fileno(), deadline, watch):
                dump = self._thread_dump() or f"no thread dump within {_DUMP_WITHIN_S:g} s"
                log.warning("threads of the load generator at its timeout:\n%s", dump)
                raise timed_out(request, complaint_in(self._errors, said_before, secrets))
            chunk = b""
            with suppress(ConnectionError):  # it ended with a request unread
                chunk = self._socket.recv(_CHUNK_BYTES)
            if not chunk:
                exit_code = self._process.wait()
                complaint = complaint_in(self._errors, said_before, secrets)
                require_success(exit_code, complaint)
                raise LoadToolError(f"the load generator ended without an answer: {complaint}")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace"), complaint_in(self._errors, said_before, secrets)

    def _thread_dump(self) -> str:
        """Return the stacks of all threads, which a JVM prints to stdout on SIGQUIT; empty if it does not respond."""
        self._process.send_signal(signal.SIGQUIT)
        said, deadline = b"", time.monotonic() + _DUMP_WITHIN_S
        with suppress(ConnectionError):
            while wait_until_readable(self._socket.fileno(), deadline, None) and (
                chunk := self._socket.recv(_CHUNK_BYTES)
            ):
                said += chunk
        return said.decode(errors="replace")
