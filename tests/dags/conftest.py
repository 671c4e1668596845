"""Steps and servers of Airflow's, for the tests of what runs in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.airflow_home import AIRFLOW_ENVIRONMENT, PROJECT

if TYPE_CHECKING:
    from tests.dags.serving import Served


@dataclass(frozen=True)
class FakeProject:
    """A project root whose steps only note their arguments, print a manifest, or obey a test."""

    root: Path

    def write_step(self, step: str, code: str) -> None:
        (self.root / "tasks" / f"{step}.py").write_text(code, encoding="utf-8")

    def write_noting_step(self, step: str, cases: str = '["1024", "65636"]') -> None:
        """A step that notes its arguments and names these cases, which may be a Python expression."""
        self.write_step(step, _NOTING_STEP.format(step=step, cases=cases))

    def calls(self) -> list[list[str]]:
        """The steps that ran, in order, each with its arguments."""
        return [json.loads(line) for line in (self.root / "calls.jsonl").read_text(encoding="utf-8").splitlines()]

    def run(self, script: str, conf: dict[str, Any] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a Python script against this project, in a separate process like a task's."""
        return subprocess.run(
            [sys.executable, "-c", script, json.dumps(conf or {})],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "OMP_NUM_THREADS") if name in os.environ}
        paths = {"PYTHONPATH": f"{PROJECT / 'include'}:{PROJECT}", "KAFKA_PARETO_PROJECT_ROOT": str(self.root)}
        return {**kept, **AIRFLOW_ENVIRONMENT, **paths, "AIRFLOW__CORE__FERNET_KEY": "an Airflow secret"}


_NOTING_STEP = """
import json, sys
with open("calls.jsonl", "a") as calls:
    calls.write(json.dumps(["{step}", *sys.argv[1:]]) + "\\n")
print("a line of the log")
print(json.dumps({{"step": "{step}", "cases": {cases}}}))
"""


def new_project(folder: Path) -> FakeProject:
    """One in an empty folder, whose propose step finds nothing to do, as for a study without rounds."""
    (folder / "tasks").mkdir()
    (folder / "include").symlink_to(PROJECT / "include")
    project = FakeProject(folder)
    for step in ("design", "measure", "validate", "train", "optimize", "confirm", "report", "accept"):
        project.write_noting_step(step)
    project.write_noting_step("propose", cases="[]")
    return project


_PREPARE = """
from airflow.models.pool import Pool
from airflow.utils.db import initdb
initdb()
Pool.create_or_update_pool("kafka_cluster", 1, "one load at a time", include_deferred=False)
"""


@pytest.fixture(scope="package")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A real Airflow with stand-in steps, one for all tests that need a scheduler."""
    from tests.dags.serving import served

    with served(tmp_path_factory.mktemp("served")) as airflow:
        yield airflow


@pytest.fixture(scope="session")
def airflow_database() -> None:
    """Airflow's tables, and the pool that the embedded stack makes."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "include")}
    subprocess.run([sys.executable, "-c", _PREPARE], env=environment, check=True, capture_output=True, timeout=180)
