"""A driver is a folder and a name in the list: a sixth one, in a copy of the project, is run as the five are."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.stack.embedded_stack import ROOT, EmbeddedStack, embedded_stack

pytestmark = [pytest.mark.stack, pytest.mark.studies]

LIST = Path("include/kafka_pareto/drivers/driver_list.py")
STUDY = {
    "schema_version": 1,
    "kind": "tune",
    "driver": "naps",
    "name": "nap",
    "description": "How long to sleep.",
    "factors": {"nap_ms": {"type": "integer", "low": 20, "high": 200}},
    "protocol": {"repetitions": 3, "minimum_valid_repetitions": 2, "cool_down_s": 0},
    "design": {"configurations": 5},
    "surrogate": {"n_estimators": 20},
    "search": {"generations": 10},
    "confirmation": {"points": 2, "choice_blocks": 2, "gain_blocks": 10, "minimum_blocks": 5},
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """The stack of a project that has one folder and one name more."""
    project = tmp_path_factory.mktemp("project")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in tracked.split("\0"):
        if name.startswith(("dags/", "include/", "mlflow/", "plugins/", "tasks/")):
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, project / name)
    (project / ".state").symlink_to(ROOT / ".state")
    shutil.copytree(ROOT / "tests" / "drivers" / "naps", project / LIST.parent / "naps")
    names = (project / LIST).read_text()
    (project / LIST).write_text(names.replace('"log_pipeline")', '"log_pipeline", "naps")'))
    (project / "include" / "studies" / "nap.yaml").write_text(yaml.safe_dump(STUDY))
    with embedded_stack(tmp_path_factory.mktemp("state"), project) as started:
        code, said = started.command("up")
        assert code == 0, said
        yield started


def test_a_study_of_it_prints_a_table_and_a_card(stack: EmbeddedStack) -> None:
    code, said = stack.command("run", STUDY="nap", timeout_s=400)
    print(said)
    assert code == 0, said
    assert "CHANGE RECOMMENDED" in said
    assert "time asleep" in said
