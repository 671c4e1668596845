"""A user's `client.properties` has a copy for as long as a run of its campaign needs it, and not a moment longer."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kafka_pareto.campaign.client_config import (
    client_config_for_run,
    client_config_name,
    forget_client_config,
    run_start_lock,
    sweep_client_configs,
)
from kafka_pareto.errors import BadInputError
from kafka_pareto.settings import Settings
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.requests import RunRequest
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns
from kafka_pareto_embedded.runs.request import dag_parameters, handing_over
from kafka_pareto_embedded.runs.run import start_or_join

pytestmark = [pytest.mark.fast, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
GIVEN = "sasl.jaas.config=… password=hidden;\n"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(GIVEN)
    return path


def test_a_kill_at_any_line_before_the_trigger_leaves_nothing_that_a_sweep_does_not_remove(
    tmp_path: Path, given: Path
) -> None:
    (tmp_path / "kills").mkdir()
    argv = [sys.executable, "-m", "tests.unit.embedded.killed_hand_over", str(tmp_path / "kills"), str(given)]
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'include'}"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)

    kills = [json.loads(line) for line in done.stdout.splitlines()]
    without_run = [each for each in kills if not each["has_run"]]
    assert len(without_run) >= 10
    assert any(name.endswith(".properties") for each in without_run for name in each["killed"])
    assert any(name.endswith(".partial") for each in without_run for name in each["killed"])
    assert [each for each in without_run if each["swept"]] == []
    with_run = [each for each in kills if each["has_run"]]
    assert with_run
    assert all(each["swept"] == each["killed"] and len(each["swept"]) == 1 for each in with_run)
    assert [each for each in kills if each["ended"]] == []


class FailingRuns(AirflowRuns):
    """Airflow fails in any way that a user's machine may know."""

    def __init__(self, error: BaseException, configs: Path) -> None:
        self._error = error
        self._configs = configs
        self.seen: list[str] = []

    def studies(self) -> list[str]:
        return ["quick"]

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        return []

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:  # noqa: ARG002
        self.seen = [each.name for each in self._configs.glob("*.properties")]
        raise self._error


@pytest.mark.parametrize("error", [BadInputError("no"), KeyError("token"), KeyboardInterrupt(), SystemExit(143)])
def test_a_trigger_that_fails_in_whatever_way_leaves_no_copy(tmp_path: Path, given: Path, error: BaseException) -> None:
    settings = Settings(client_configs=tmp_path / "client-configs")
    asked = RunRequest(bootstrap_servers="b:9092", client_config=str(given), ceiling_mib_s=1, ceiling_gib=1)
    parameters = dag_parameters(asked, FolderStore(tmp_path / "store"), settings)
    credentials = handing_over(asked, parameters, settings)
    assert not settings.client_configs.exists(), "nothing is written before the trigger"
    runs = FailingRuns(error, settings.client_configs)

    with pytest.raises(type(error)):
        start_or_join(settings.client_configs, runs, "r", parameters, credentials)

    assert runs.seen == [client_config_name(parameters["campaign"])]
    assert list(settings.client_configs.glob("*.properties")) == []


def test_a_sweep_removes_the_copies_that_no_run_needs_and_no_other_file(tmp_path: Path) -> None:
    for campaign in ("active", "ended", "killed"):
        with client_config_for_run(tmp_path, campaign, f"{campaign}__1", GIVEN):
            pass
    (tmp_path / "prod.properties").write_text(GIVEN)
    (tmp_path / ".killed.properties.x1.partial").write_text(GIVEN)

    assert sweep_client_configs(tmp_path, lambda: ["active__1", "ended__2"]) == ["ended", "killed"]

    assert sorted(each.name for each in tmp_path.glob("*")) == [".lock", "active.properties", "prod.properties"]


def test_the_late_end_of_an_earlier_run_leaves_the_copy_of_the_run_that_came_after_it(tmp_path: Path) -> None:
    for run_id in ("c__1", "c__2"):
        with client_config_for_run(tmp_path, "c", run_id, GIVEN):
            pass
    assert not forget_client_config(tmp_path, "c", "c__1")
    assert GIVEN in (tmp_path / "c.properties").read_text()
    assert forget_client_config(tmp_path, "c", "c__2")
    assert not (tmp_path / "c.properties").exists()


def test_no_runs_are_requested_without_a_copy(tmp_path: Path) -> None:
    def fail() -> list[str]:
        raise AssertionError

    assert sweep_client_configs(tmp_path / "none", fail) == []
    (tmp_path / "prod.properties").write_text(GIVEN)
    assert sweep_client_configs(tmp_path, fail) == []


def test_a_sweep_waits_until_a_copy_that_was_just_written_has_its_run(tmp_path: Path) -> None:
    active: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        with run_start_lock(tmp_path), client_config_for_run(tmp_path, "c", "r", GIVEN):
            swept = pool.submit(sweep_client_configs, tmp_path, lambda: list(active))
            with pytest.raises(TimeoutError):
                swept.result(0.3)
            active.append("r")
        assert swept.result(30) == []
    assert (tmp_path / "c.properties").exists()
