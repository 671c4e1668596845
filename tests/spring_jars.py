"""The example of Spring with all jars that it needs, for tests that start it or bind settings as it does."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "include" / "examples" / "spring"
MAVEN_READS = ("PATH", "HOME", "JAVA_HOME", "MAVEN_OPTS", "MAVEN_ARGS")


@pytest.fixture(scope="session")
def spring_jars() -> Path:
    """The folder of jars, rebuilt if the example's sources have changed."""
    folder = ROOT / ".state" / "spring"
    built = folder / "jars" / "kafka-pareto-example-1.jar"
    changed = max(path.stat().st_mtime for path in SOURCES.rglob("*"))
    if not built.exists() or built.stat().st_mtime < changed:
        shutil.rmtree(folder, ignore_errors=True)  # a jar of another version would be on the class path too
        argv = ["mvn", "-q", "-B", "-C", "-f", str(SOURCES / "pom.xml"), "package", f"-DbuildDir={folder}"]
        done = subprocess.run(
            argv,
            env={name: os.environ[name] for name in MAVEN_READS if name in os.environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout
    return folder / "jars"
