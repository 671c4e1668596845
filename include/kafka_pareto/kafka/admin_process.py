"""Run Kafka's AdminClient in a helper process on a socket, one JSON line per request."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.client_properties import hidden, read_client_config, secrets_in
from kafka_pareto.kafka.java import QUICK_START, cds_archive, cds_options, java_environment, require_java, tethered
from kafka_pareto.settings import Settings

HELPER = "cluster-helper"
_START_TIMEOUT_S = 30.0
_GRACE_S = 5.0

_FIXES = {
    r"Timeout|Disconnect|Network": "check that the brokers run and the addresses are correct; if the cluster uses SASL "
    "or TLS, pass a client.properties (KAFKA_CONFIG)",
    r"Sasl|Ssl|Authentication": "fix the credentials or certificates in the client.properties",
    r"Authorization": "the user needs Create, Write, Delete, Read and DescribeConfigs on the measured topics, and "
    "Describe on the cluster; see docs/existing-clusters.md",
    r"InvalidReplicationFactor": "start more brokers, or lower workload.replication_factor in the study",
    r"PolicyViolation|Invalid": "the cluster does not allow this topic; adapt the study's workload to its policy",
    r"UnknownTopic": "create the topic, or check who deleted it",
    r"^Config|^Kafka|Illegal|File|AccessDenied": "fix the client.properties or the bootstrap servers",
}


def helper_argv(java: str, jars: Path) -> list[str]:
    """Return the helper's command line."""
    options = ["-Xmx96m", *QUICK_START, "-XX:+ErrorFileToStderr", *cds_options(jars, HELPER)]
    return [java, *options, "-cp", f"{jars}/*", "io.kafkapareto.ClusterAdmin"]


class _NoAnswerError(Exception):
    """The helper process printed invalid output."""

    def __init__(self, printed: bytes) -> None:
        self.printed = printed
        super().__init__(f"the helper process printed {printed[:200].decode(errors='replace')!r} instead of a response")


class ClusterHelper:
    """The helper process; requests of several threads are queued.

    It ends when its stdin closes, and is killed with the thread that started it. `client_config` is a Java
    `client.properties`; None for a plaintext cluster.

    Raises:
        BadInputError: If the client configuration cannot be read, or Java is missing.
        ClusterError: If Kafka's client rejects its configuration.
    """

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._settings = settings
        self._secrets = secrets_in(read_client_config(client_config)) if client_config else []
        require_java(settings.java)
        self._turn = threading.Lock()
        self._last_id = 0
        self._unread = b""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close())
        self._socket, helpers_end = socket.socketpair()
        with helpers_end:
            self._process = self._start(helpers_end)
        try:
            config = str(client_config.absolute()) if client_config else None
            self.ask("connect", _START_TIMEOUT_S, bootstrap_servers=bootstrap_servers, client_config=config)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._socket.close()
        self._log.close()

    def ask(self, operation: str, timeout_s: float, **arguments: Any) -> Any:
        """Send one request to Kafka and return its response as JSON values.

        Raises:
            ClusterError: If Kafka rejects the request, or the process has ended or does not respond.
        """
        asked = f"{operation} {arguments.get('topic', '')}".rstrip()
        with self._turn:
            self._last_id += 1
            request = {"id": self._last_id, "operation": operation, "timeout_ms": int(timeout_s * 1000), **arguments}
            try:
                answer = self._exchange(request, timeout_s + _GRACE_S)
            except TimeoutError as error:
                self._process.kill()
                reason = f"the helper process did not respond within {timeout_s + _GRACE_S:.0f} s"
                raise self.error(asked, reason, "check whether this machine is overloaded") from error
            except OSError as error:
                raise self._ended(asked) from error
            except _NoAnswerError as error:
                self._process.kill()  # its next output would be read as the response to the next request
                fix = "check for other output on its stdout, such as a Java agent's"
                if error.printed.startswith(b"#"):  # the JVM's report of a crash
                    fix = f"its CDS archive may be damaged: delete {cds_archive(self._settings.kafka_jars, HELPER)}"
                raise self.error(asked, str(error), fix) from error
        if "error" in answer:
            kind, message = answer["error"]["type"], answer["error"]["message"]
            fix = next((fix for pattern, fix in _FIXES.items() if re.search(pattern, kind)), "check the brokers' logs")
            raise self.error(asked, f"{kind}: {message}", fix, kind)
        return answer["ok"]

    def error(self, operation: str, reason: str, fix: str, kafka_error: str = "") -> ClusterError:
        """Build a ClusterError that names the cluster and the operation, with secrets hidden."""
        message = f"Kafka cluster {self._bootstrap_servers}: {operation}: {reason}; {fix}"
        return ClusterError(hidden(message, self._secrets), kafka_error)

    def _start(self, helpers_end: socket.socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            tethered(helper_argv(self._settings.java, self._settings.kafka_jars)),
            stdin=helpers_end.fileno(),
            stdout=helpers_end.fileno(),
            stderr=self._log,
            env=java_environment(),
            start_new_session=True,  # on Ctrl-C the step may still need the helper to clean up
        )

    def _exchange(self, request: dict[str, Any], timeout_s: float) -> Any:
        deadline = time.monotonic() + timeout_s
        self._socket.settimeout(timeout_s)
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        answer = self._next_answer(deadline)
        while answer["id"] != request["id"]:  # the response to a request that a signal interrupted
            answer = self._next_answer(deadline)
        return answer

    def _next_answer(self, deadline: float) -> Any:
        while b"\n" not in self._unread:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = self._socket.recv(65536)
            if not chunk:
                raise ConnectionError("the helper process has ended")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or "id" not in answer or not {"ok", "error"} & answer.keys():
            raise _NoAnswerError(line)
        return answer

    def _ended(self, operation: str) -> ClusterError:
        status = self._process.wait()
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 1000))
        said = self._log.read().decode(errors="replace").strip() or "no output"
        fix = f"check that Kafka's jars in {self._settings.kafka_jars} are complete and that enough memory is free"
        return self.error(operation, f"the helper process ended with status {status}: {said}", fix)
