"""The load tool door: Kafka's own `ProducerPerformance`, one fresh JVM per repetition, tied to this process."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from kafka_pareto.errors import LoadToolError
from kafka_pareto.perf_output import PerfOutput, parse_perf_output
from kafka_pareto.producer_properties import DEFAULTS, PropertyValue
from kafka_pareto.settings import Settings

MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"
_WATCH_EVERY_S = 1.0
_MIB = 1 << 20


@dataclass(frozen=True)
class LoadRequest:
    """One execution: what to send where, how fast, and with which producer properties.

    `records` includes the `warmup_records`; `throughput_records_s` is None for as fast as it goes.
    """

    topic: str
    records: int
    record_size_bytes: int
    properties: Mapping[str, PropertyValue]
    timeout_s: float
    warmup_records: int = 0
    throughput_records_s: float | None = None


@dataclass(frozen=True)
class LoadResult:
    """What the tool printed, and what its process cost."""

    output: PerfOutput
    wall_s: float
    client_cpu_s: float
    errors: str


class LoadTool(Protocol):
    """Anything that executes a load request."""

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        """Executes the request; `watch` is called every second, and an error that it raises ends the load.

        Raises:
            LoadToolError: If it does not start, ends with an error, runs out of time, is stopped, or prints
                something that cannot be read.
        """


class ProducerPerformance:
    """`kafka-producer-perf-test` as a subprocess that dies with this process, even when that is killed with -9."""

    def __init__(self, bootstrap_servers: str, client_config: Path | None, settings: Settings) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._client_config = client_config
        self._settings = settings

    def run(self, request: LoadRequest, watch: Callable[[], None] | None = None) -> LoadResult:
        with tempfile.TemporaryDirectory(prefix="kafka-pareto-load-") as folder:
            properties_file = Path(folder) / "producer.properties"
            properties_file.touch(mode=0o600)
            properties_file.write_text(self._properties_text(request), encoding="utf-8")
            output_file, errors_file = Path(folder) / "stdout", Path(folder) / "stderr"
            cpu_before, started = _children_cpu_s(), time.monotonic()
            with output_file.open("wb") as output, errors_file.open("wb") as errors:
                process = self._start(perf_test_argv(self._settings, request, properties_file), output, errors)
                self._wait(process, request.timeout_s, watch)
            wall_s, client_cpu_s = time.monotonic() - started, _children_cpu_s() - cpu_before
            complaint = _first_complaint(errors_file.read_text(encoding="utf-8", errors="replace"))
            if process.returncode != 0:
                raise LoadToolError(f"the load tool ended with exit code {process.returncode}: {complaint}")
            parsed = parse_perf_output(output_file.read_text(encoding="utf-8", errors="replace"))
            return LoadResult(parsed, wall_s, client_cpu_s, complaint)

    def _properties_text(self, request: LoadRequest) -> str:
        client = self._client_config.read_text(encoding="utf-8") if self._client_config else ""
        lines = [f"{name}={_java_text(value)}" for name, value in request.properties.items()]
        return "\n".join([client, f"bootstrap.servers={self._bootstrap_servers}", *lines]) + "\n"

    def _start(self, argv: list[str], output: BinaryIO, errors: BinaryIO) -> subprocess.Popen[bytes]:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment,
            )
        except OSError as error:
            raise LoadToolError(f"the load tool cannot be started: {argv[0]}: {error.strerror}") from error

    def _wait(self, process: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[], None] | None) -> None:
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise LoadToolError(f"the load tool did not end within {timeout_s:.0f} s and was stopped")
                try:
                    process.wait(min(remaining, _WATCH_EVERY_S) if watch else remaining)
                except subprocess.TimeoutExpired:
                    if watch:
                        watch()
                    continue
                return
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def perf_test_argv(settings: Settings, request: LoadRequest, properties_file: Path) -> list[str]:
    """The command line of one execution; everything that may be secret is in the properties file."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise LoadToolError("setpriv is not on the PATH; install util-linux, so that the load can end with its step")
    buffer_mib = int(request.properties.get("buffer.memory", DEFAULTS["buffer.memory"])) // _MIB
    rate = "-1" if request.throughput_records_s is None else f"{max(request.throughput_records_s, 1.0):.0f}"
    argv = [setpriv, "--pdeathsig", "KILL", "--", settings.java, f"-Xmx{192 + 2 * buffer_mib}m"]
    argv += ["-Duser.language=en", "-Duser.country=US", "-cp", f"{settings.kafka_jars}/*", MAIN_CLASS]
    argv += ["--topic", request.topic, "--num-records", str(request.records)]
    argv += ["--record-size", str(request.record_size_bytes), "--throughput", rate]
    argv += ["--command-config", str(properties_file), "--print-metrics"]
    if request.warmup_records:
        argv += ["--warmup-records", str(request.warmup_records)]
    return argv


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _java_text(value: PropertyValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _first_complaint(errors: str) -> str:
    """The first line of the tool's stderr that says something: no stack frames, no logging set-up."""
    for line in errors.splitlines():
        stripped = line.strip()
        if stripped and not stripped.startswith(("at ", "SLF4J", "WARNING:", "...")):
            return stripped[:300]
    return ""
