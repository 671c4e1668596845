"""Run the process manager supervisord: write its configuration, and call its socket in the state folder."""

from __future__ import annotations

import http.client
import os
import shlex
import socket
import subprocess
import sys
import time
import xmlrpc.client
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from kafka_pareto.storage.private_file import write_private
from kafka_pareto_embedded.bootstrap.preflight import is_supervised
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.programs.programs import Program, tied_to_parent

_CALL_TIMEOUT_S = 10.0
_START_TIMEOUT_S = 15.0
_STOP_TIMEOUT_S = 90.0
_POLL_S = 0.1
_SHORTEST_RUN_S = 3  # a program that exits sooner has failed to start
_LEFTOVER_GRACE_S = 15.0
_LOG_BYTES = 10 * 2**20


@dataclass(frozen=True)
class ProcessState:
    """A program; `state` is supervisord's, like RUNNING, STARTING, BACKOFF or FATAL."""

    name: str
    group: str
    state: str
    pid: int | None
    since: datetime | None
    log: Path

    @property
    def is_running(self) -> bool:
        """Return whether the program runs."""
        return self.state == "RUNNING"

    @property
    def has_failed(self) -> bool:
        """Return whether the program exited unexpectedly, or never started."""
        return self.state in ("BACKOFF", "EXITED", "FATAL", "UNKNOWN")


class Supervisor:
    """Control the process manager of one state folder."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._socket = state / "supervisor.sock"

    def is_up(self) -> bool:
        """Return whether the process manager answers."""
        return is_supervised(self._state)

    def launch(self, programs: list[Program], environment: dict[str, str]) -> None:
        """Start the process manager as a daemon; its programs wait for `start`.

        Raises:
            StackError: If it does not come up.
        """
        configuration = self._state / "supervisord.conf"
        write_private(configuration, render_configuration(self._state, programs))
        log = self._state / "logs" / "supervisord.log"
        try:
            done = subprocess.run(
                [sys.executable, "-m", "supervisor.supervisord", "-c", str(configuration)],
                env=environment,
                cwd=self._state,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_START_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StackError(f"the process manager did not start within {_START_TIMEOUT_S:.0f} s; see {log}") from error
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise StackError(f"the process manager did not start: {said[-1] if said else 'no output'}; see {log}")
        wait_until("the process manager answers", self.is_up, _START_TIMEOUT_S, f"see {log}")

    def processes(self) -> list[ProcessState]:
        """Return all programs in the order of their groups; empty if the process manager is down."""
        return [_process_state(info) for info in self._call("getAllProcessInfo")] if self.is_up() else []

    def start(self, process: ProcessState) -> None:
        """Start a program without waiting for it."""
        self._call("startProcess", f"{process.group}:{process.name}", False)

    def stop(self, process: ProcessState) -> None:
        """Stop a program and wait for its end."""
        self._call("stopProcess", f"{process.group}:{process.name}", True, timeout_s=_STOP_TIMEOUT_S)

    def end_leftovers(self) -> bool:
        """End processes that outlived a killed process manager or program; return whether there were any.

        Every process of the stack has a home in the state folder. The kernel has sent TERM to leaders of process groups
        (`tied_to_parent`); their children get it here. Some ignore it after the reader of their log has exited.

        Raises:
            StackError: If a process cannot be ended.
        """
        home, own = str(self._state / "home"), psutil.Process()
        spared = {own, *own.parents()}
        leftovers = [each for each in psutil.process_iter() if _home(each) == home and each not in spared]
        for process in leftovers:
            with suppress(psutil.NoSuchProcess):
                if not _leads_group(process):
                    process.terminate()
        self._kill(_alive_after(leftovers, _LEFTOVER_GRACE_S))
        return bool(leftovers)

    def shut_down(self) -> None:
        """Stop all programs and the process manager, and wait for their end; print nothing if it is down.

        Raises:
            StackError: If a process is still running after a long wait.
        """
        if not self.is_up():
            return
        manager = psutil.Process(self._call("getPID"))
        everything = [manager, *manager.children(recursive=True)]
        self._call("shutdown")
        self._kill(_alive_after(everything, _STOP_TIMEOUT_S))

    def _kill(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if alive := _alive_after(processes, _CALL_TIMEOUT_S):
            pids = ", ".join(str(process.pid) for process in alive)
            raise StackError(f"processes {pids} of the stack could not be ended; see {self._state / 'logs'}")

    def _call(self, method: str, *arguments: object, timeout_s: float | None = None) -> Any:
        transport = _SocketTransport(self._socket, timeout_s or _CALL_TIMEOUT_S)
        try:
            with xmlrpc.client.ServerProxy("http://localhost/RPC2", transport=transport) as server:
                return getattr(server.supervisor, method)(*arguments)
        except xmlrpc.client.Fault as fault:
            raise StackError(f"the process manager refused {method} {arguments}: {fault.faultString}") from fault
        except (OSError, http.client.HTTPException, xmlrpc.client.Error) as error:
            fix = self._end_by_hand() if isinstance(error, TimeoutError) else "try `make down`"
            raise StackError(f"the process manager at {self._socket} did not answer: {error}; {fix}") from error

    def _end_by_hand(self) -> str:
        """Return how to end a process manager that hangs, so that `make down` cannot end it either."""
        again = "run the same command again"
        try:
            pid = (self._state / "supervisord.pid").read_text(encoding="utf-8").strip()
        except OSError:
            return again
        return (
            f"{again}; if there is still no answer, end it with `kill -9 {pid}`, which stops the stack and its runs, "
            "then run `make down`"
        )


def render_configuration(state: Path, programs: list[Program]) -> str:
    """Return the text of supervisord.conf. It contains secrets: the file is for its owner only."""
    logs = state / "logs"
    lines = [
        "[supervisord]",
        f"logfile={_value(logs / 'supervisord.log')}",
        f"logfile_maxbytes={_LOG_BYTES}",
        "logfile_backups=1",
        f"pidfile={_value(state / 'supervisord.pid')}",
        f"directory={_value(state)}",
        "umask=077",
        "[unix_http_server]",
        f"file={_value(state / 'supervisor.sock')}",
        "chmod=0700",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
    ]
    for priority, group in enumerate(dict.fromkeys(program.group for program in programs), start=1):
        members = ",".join(program.name for program in programs if program.group == group)
        lines += [f"[group:{group}]", f"programs={members}", f"priority={priority}"]
    for program in programs:
        lines += [
            f"[program:{program.name}]",
            f"command={_value(shlex.join(tied_to_parent(program.argv)))}",
            f"directory={_value(program.directory)}",
            f"environment={_environment(program)}",
            f"stdout_logfile={_value(logs / program.name)}.log",
            f"stdout_logfile_maxbytes={_LOG_BYTES}",
            "stdout_logfile_backups=1",
            "redirect_stderr=true",
            "autostart=false",
            "autorestart=true",
            f"startsecs={_SHORTEST_RUN_S}",
            "startretries=3",
            f"stopwaitsecs={program.stop_timeout_s}",
            "stopasgroup=true",
            "killasgroup=true",
        ]
    return "\n".join([*lines, ""])


def _value(value: object) -> str:
    text = str(value)
    if _is_cut(text):
        raise StackError(f"{text!r}: supervisord accepts no line break, ' ;' or ' #' here; use another folder")
    return text.replace("%", "%%")


def _is_cut(text: str) -> bool:
    return any(cut in text for cut in ("\n", " ;", " #"))


def _environment(program: Program) -> str:
    """Return the variables as supervisord reads them; an error never shows a value, which may be a secret."""
    for name, value in program.environment.items():
        if _is_cut(value):
            raise StackError(f"{name}: must not contain a line break, ' ;' or ' #'; percent-encode it")
        if '"' in value:
            raise StackError(f"{name}: must not contain a double quote; write a connection as a URI, not as JSON")
    return _value(",".join(f'{name}="{value}"' for name, value in program.environment.items()))


class _SocketTransport(xmlrpc.client.Transport):
    """Send XML-RPC over a Unix socket; every call has a timeout."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__()
        self._path = path
        self._timeout_s = timeout_s

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        """Return a connection to the socket; ignore the host."""
        connection = http.client.HTTPConnection(str(host), timeout=self._timeout_s)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(self._timeout_s)
        connection.sock.connect(str(self._path))
        return connection


def _home(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("HOME")
    except (psutil.Error, OSError):
        return None


def _alive_after(processes: list[psutil.Process], timeout_s: float) -> list[psutil.Process]:
    """Wait until the processes have ended, and return the remaining ones.

    A zombie has ended; it stays forever in a container whose first process does not reap children.
    """
    deadline = time.monotonic() + timeout_s
    while alive := [process for process in processes if _is_alive(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    return alive


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _leads_group(process: psutil.Process) -> bool:
    try:
        return os.getpgid(process.pid) == process.pid
    except ProcessLookupError:
        return False


def _process_state(info: dict[str, Any]) -> ProcessState:
    state = str(info["statename"])
    changed_at = info["start"] if info["pid"] else info["stop"]
    return ProcessState(
        name=info["name"],
        group=info["group"],
        state=state,
        pid=info["pid"] or None,
        since=datetime.fromtimestamp(changed_at, UTC).astimezone() if changed_at else None,
        log=Path(info["stdout_logfile"]),
    )
