"""What a load is asked to do and what it answers, whichever tool executes it; and the process that it runs in."""

from __future__ import annotations

import math
import os
import resource
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from kafka_pareto.artifacts import TimedLoad
from kafka_pareto.errors import LoadToolError
from kafka_pareto.producer_properties import DEFAULTS, PropertyValue
from kafka_pareto.settings import Settings

_WATCH_EVERY_S = 1.0
_MIB = 1 << 20


@dataclass(frozen=True)
class LoadRequest:
    """One execution: what to send where, how fast, and with which producer properties.

    Kafka's tool sends `records`, which include the `warmup_records`; the load generator does what `timed` says.
    `throughput_records_s` bounds either; None for as fast as it goes. Without a `payload_file` (one record per line)
    the values are random letters.
    """

    topic: str
    record_size_bytes: int
    properties: Mapping[str, PropertyValue]
    timeout_s: float
    records: int = 0
    warmup_records: int = 0
    timed: TimedLoad | None = None
    throughput_records_s: float | None = None
    payload_file: Path | None = None
    keys: int = 0


@dataclass(frozen=True)
class Figures:
    """What was measured after the warm-up.

    Latencies count from the moment a record was due where the load was paced by the load generator, else from the
    call of `send()`; `latency_from_send_p95_ms` is the latter in both cases. The CVs are of this run alone. None:
    the tool does not say.
    """

    throughput_records_s: float
    printed_mib_s: float | None
    latency_avg_ms: float
    latency_max_ms: float
    latency_p50_ms: float
    latency_p95_ms: float
    latency_p99_ms: float
    latency_p999_ms: float
    latency_from_send_p95_ms: float
    latency_p9999_ms: float | None = None
    latency_cv_in_run: float | None = None
    throughput_cv_in_run: float | None = None
    paced_rate_asked_records_s: float | None = None
    paced_rate_records_s: float | None = None


@dataclass(frozen=True)
class ClientMetrics:
    """The producer's own metrics (group `producer-metrics`), of the part that latencies were taken from.

    Averages cover the client's last 30 to 60 s, warm-up included. None: the client had nothing to say.
    """

    queue_time_avg_ms: float | None = None
    queue_time_max_ms: float | None = None
    request_latency_avg_ms: float | None = None
    request_latency_max_ms: float | None = None
    batch_size_avg_bytes: float | None = None
    compression_rate_avg: float | None = None
    records_per_request_avg: float | None = None
    buffer_wait_s: float | None = None
    buffer_exhausted_records: float | None = None
    record_retries: float | None = None
    produce_throttle_max_ms: float | None = None


def client_metrics(found: Mapping[str, float]) -> ClientMetrics:
    """The client's metrics by Kafka's own names, of group `producer-metrics`; NaN and infinity say nothing."""

    def value(name: str, unit: float = 1.0) -> float | None:
        number = found.get(name)
        return number * unit if number is not None and math.isfinite(number) else None

    return ClientMetrics(
        queue_time_avg_ms=value("record-queue-time-avg"),
        queue_time_max_ms=value("record-queue-time-max"),
        request_latency_avg_ms=value("request-latency-avg"),
        request_latency_max_ms=value("request-latency-max"),
        batch_size_avg_bytes=value("batch-size-avg"),
        compression_rate_avg=value("compression-rate-avg"),
        records_per_request_avg=value("records-per-request-avg"),
        buffer_wait_s=value("bufferpool-wait-time-ns-total", 1e-9),
        buffer_exhausted_records=value("buffer-exhausted-total"),
        record_retries=value("record-retry-total"),
        produce_throttle_max_ms=value("produce-throttle-time-max"),
    )


@dataclass(frozen=True)
class LoadResult:
    """What came of one execution, and what its process cost.

    `records_attempted` and `records_sent` count everything, warm-up included; sent are those that the producer
    reported as done. `figures` is None when nothing was measured, as when every send failed. `unthrottled_s` is how
    long the sending as fast as it goes took, with `sending_cpu_s` of CPU in the sending thread; `unthrottled_wait_s` is
    how long it waited for Kafka: for buffer space, warm-up included, and at the end for what was under way still
    (None: not known).
    `errors` is the first complaint of the tool.
    """

    records_attempted: int
    records_sent: int
    figures: Figures | None
    client: ClientMetrics
    wall_s: float
    client_cpu_s: float
    errors: str
    unthrottled_s: float | None = None
    sending_cpu_s: float | None = None
    unthrottled_wait_s: float | None = None


class LoadTool(Protocol):
    """Anything that executes a load request."""

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Executes the request; `watch` is called every second, and an error that it raises ends the load.

        Raises:
            LoadToolError: If it does not start, ends with an error, runs out of time, is stopped, or prints
                something that cannot be read.
        """


@dataclass(frozen=True)
class Execution:
    """An ended process of a load tool."""

    output: str
    complaint: str
    wall_s: float
    cpu_s: float


class LoadProcess:
    """A Java program as a subprocess that dies with this process, even when that is killed with -9."""

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._client_config = client_config
        self._settings = settings

    def execute(
        self, main_class: str, options: list[str], request: LoadRequest, watch: Callable[[], None] | None
    ) -> Execution:
        """Runs the class with the options, to which the file with the producer's properties is added.

        Raises:
            LoadToolError: If it cannot be started, ends with an error, runs out of time, or is stopped by `watch`.
        """
        with tempfile.TemporaryDirectory(prefix="kafka-pareto-load-") as folder:
            properties_file = Path(folder) / "producer.properties"
            properties_file.touch(mode=0o600)
            properties_file.write_text(self._properties_text(request), encoding="utf-8")
            argv = java_argv(self._settings, request, main_class)
            argv += [*options, "--command-config", str(properties_file)]
            output_file, errors_file = Path(folder) / "stdout", Path(folder) / "stderr"
            cpu_before, started = _children_cpu_s(), time.monotonic()
            with output_file.open("wb") as output, errors_file.open("wb") as errors:
                process = _start(argv, output, errors)
                _wait(process, request.timeout_s, watch)
            wall_s, cpu_s = time.monotonic() - started, _children_cpu_s() - cpu_before
            complaint = _first_complaint(errors_file.read_text(encoding="utf-8", errors="replace"))
            if process.returncode != 0:
                raise LoadToolError(f"the load tool ended with exit code {process.returncode}: {complaint}")
            return Execution(output_file.read_text(encoding="utf-8", errors="replace"), complaint, wall_s, cpu_s)

    def _properties_text(self, request: LoadRequest) -> str:
        client = self._client_config.read_text(encoding="utf-8") if self._client_config else ""
        lines = [f"{name}={_java_text(value)}" for name, value in request.properties.items()]
        return "\n".join([client, f"bootstrap.servers={self._bootstrap_servers}", *lines]) + "\n"


def java_argv(settings: Settings, request: LoadRequest, main_class: str) -> list[str]:
    """The command line up to the program's own options; everything that may be secret is in the properties file."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise LoadToolError("setpriv is not on the PATH; install util-linux, so that the load can end with its step")
    buffer_mib = int(request.properties.get("buffer.memory", DEFAULTS["buffer.memory"])) // _MIB
    argv = [setpriv, "--pdeathsig", "KILL", "--", settings.java, f"-Xmx{192 + 2 * buffer_mib}m"]
    return [*argv, "-Duser.language=en", "-Duser.country=US", "-cp", f"{settings.kafka_jars}/*", main_class]


def _start(argv: list[str], output: BinaryIO, errors: BinaryIO) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    try:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=environment)
    except OSError as error:
        raise LoadToolError(f"the load tool cannot be started: {argv[0]}: {error.strerror}") from error


def _wait(process: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[], None] | None) -> None:
    """Waits for the end of the process; by its file descriptor, since `Popen.wait` looks only every 50 ms."""
    deadline = time.monotonic() + timeout_s
    descriptor = os.pidfd_open(process.pid)
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise LoadToolError(f"the load tool did not end within {timeout_s:.0f} s and was stopped")
            if ended.poll(1000 * (min(remaining, _WATCH_EVERY_S) if watch else remaining)):
                process.wait()
                return
            if watch:
                watch()
    finally:
        os.close(descriptor)
        if process.poll() is None:
            process.kill()
            process.wait()


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _java_text(value: PropertyValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _first_complaint(errors: str) -> str:
    """What the tool's stderr says first: an error of Kafka's own if it names one, since the client logs less telling
    lines before it; else a line that is no stack frame and no logging set-up.
    """
    stripped = [line.strip() for line in errors.splitlines()]
    saying = [line for line in stripped if line and not line.startswith(("at ", "SLF4J", "WARNING:", "..."))]
    telling = [line for line in saying if "org.apache.kafka.common.errors." in line]
    return next(iter(telling or saying), "")[:300]
