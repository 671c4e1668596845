"""A Java that starts sooner. Most JVMs of the tests live for seconds, and starting them took most of the tests' time.

Its JVMs keep to the first compiler, and begin with the classes of a broker that ran once (JEP 350). On two cores a
broker is up after 2.8 s of CPU time instead of 7.5. Its inputs and guarantees are the same; tests that
compare speeds take the Java that users have (`real_java`).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil

from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.errors import ClusterError
from kafka_pareto.settings import Settings

VARIABLE = "KAFKA_PARETO_JAVA"
_ARCHIVE = "classes.jsa"
_FOLDER = Path(__file__).parents[1] / ".state" / "cache" / "quick-java"
_FLAGS = "-XX:TieredStopAtLevel=1 -Xlog:disable"  # else it says on stdout which class paths have no classes stored


def use_quick_java() -> None:
    """Lets all that comes take it, unless somebody has chosen a Java."""
    settings = Settings()
    java = shutil.which(settings.java)
    if VARIABLE in os.environ or java is None or not settings.kafka_jars.is_dir():
        return
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    jars = [(jar.name, jar.stat().st_size, jar.stat().st_mtime_ns) for jar in sorted(settings.kafka_jars.glob("*.jar"))]
    made_of = hashlib.sha256(f"{_FLAGS} {settings.kafka_jars} {jars} {java} {version}".encode()).hexdigest()[:12]
    folder = _FOLDER / made_of
    if not folder.is_dir():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(dir=_FOLDER, ignore_cleanup_errors=True)
        with made as part, suppress(ClusterError):  # without it tests take longer
            _write_archive(java, Path(part), settings)
            _write_command(Path(part) / "java", java, f"-XX:SharedArchiveFile={folder / _ARCHIVE}")
            with suppress(OSError):  # a concurrent run was faster
                Path(part).rename(folder)
    if (folder / "java").exists():
        os.environ[VARIABLE] = str(folder / "java")


def _write_archive(java: str, folder: Path, settings: Settings) -> None:
    """Runs a broker that writes its classes down when it ends."""
    once = folder / "java-once"
    _write_command(once, java, f"-XX:ArchiveClassesAtExit={folder / _ARCHIVE}")
    with Brokers(1, settings.model_copy(update={"java": str(once)}), jmx_configuration=None) as brokers:
        process = psutil.Process(next(iter(brokers.pids.values())))
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _write_command(file: Path, java: str, option: str) -> None:
    part = file.with_suffix(".part")
    part.write_text(f'#!/bin/sh\nexec {shlex.quote(java)} {_FLAGS} {shlex.quote(option)} "$@"\n', encoding="utf-8")
    part.chmod(0o755)
    part.rename(file)
