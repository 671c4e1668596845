"""`make run` starts, follows and stops a campaign."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from rich.console import Console

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_embedded.airflow_api.answers import TaskRun
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection
from kafka_pareto_embedded.bootstrap.ports import read_ports
from kafka_pareto_embedded.errors import AirflowRefusedError
from kafka_pareto_embedded.runs import follow, run
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns
from kafka_pareto_embedded.runs.progress import Progress, TaskProgress
from kafka_pareto_embedded.stack.stack import Stack

pytestmark = pytest.mark.fast

KEYS = CampaignKeys("paper", "stopped")


class EndedRuns(AirflowRuns):
    """Runs whose tasks fail immediately in Airflow."""

    def __init__(self) -> None:
        self.stopped: list[str] = []

    def stop(self, run_id: str) -> None:
        self.stopped.append(run_id)

    def tasks(self, run_id: str) -> list[TaskRun]:  # noqa: ARG002
        return [TaskRun("measure", 0, "failed", 1, None, None)]


@pytest.fixture(params=[["--study=paper", "--campaign=stopped"], ["--topic", "kafka-pareto.paper.stopped.1024"]])
def load(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """A step's process, or its load's."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *request.param])
    yield process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_run_has_not_stopped_while_a_process_of_its_campaign_is_there(
    load: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_POLL_S", 0.1)
    monkeypatch.setattr(follow, "_STOP_WITHIN_S", 0.5)
    assert not follow.stop(EndedRuns(), "r", KEYS)
    assert follow.stop(EndedRuns(), "r", CampaignKeys("paper", "stopp")), "another campaign's load is not waited for"
    load.kill()
    load.wait()
    assert follow.stop(EndedRuns(), "r", KEYS)


class LookedAtRuns(AirflowRuns):
    """A run that has ended when it is looked at for the fourth time."""

    def __init__(self) -> None:
        super().__init__(AirflowClient(AirflowConnection("http://airflow", None)), "tune_producer")
        self.looks = 0

    def state(self, run_id: str) -> str:  # noqa: ARG002
        self.looks += 1
        return "success" if self.looks > 3 else "running"

    def tasks(self, run_id: str) -> list[TaskRun]:  # noqa: ARG002
        return [TaskRun("report", -1, "success" if self.looks > 3 else "running", 1, None, None)]


class Overridden(TaskProgress):
    """Has a plan from its second look on, with a value that is not its study file's."""

    looks = 0

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        self.looks += 1
        told = "protocol.cool_down_s 0 (file: 5)" if self.looks > 1 else ""
        return replace(super().at(run_state, tasks, elapsed_s), overrides=told)


def test_values_of_the_plan_that_override_the_studys_file_are_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_POLL_S", 0.01)
    said = io.StringIO()
    follow.follow(LookedAtRuns(), "r 1", Overridden(), Console(file=said))
    assert said.getvalue().count("Different from the study's file: protocol.cool_down_s 0 (file: 5)\n") == 1


class SlowToSee(AirflowRuns):
    """Offers a study after a few polls, and only once asked to read the folder of studies again."""

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.asked_to_read = 0
        self.triggered: list[str] = []

    def read_dag_again(self) -> None:
        self.asked_to_read += 1

    def studies(self) -> list[str]:
        self.looks -= 1 if self.asked_to_read else 0
        return ["mine", "quick"] if self.looks == 0 else ["quick"]

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        return []

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:
        if self.looks and parameters["study"] != "quick":
            raise BadInputError("Airflow refuses the study, in whatever words")
        self.triggered.append(run_id)


def test_a_study_that_airflow_has_not_seen_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").touch()
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    monkeypatch.setattr(run, "_STUDY_POLL_S", 0.01)
    runs = SlowToSee(looks=3)
    run.start_or_join(tmp_path / "configs", runs, "r", {"study": "mine", "campaign": "c"})
    assert (runs.looks, runs.asked_to_read, runs.triggered) == (0, 1, ["r"])


def test_a_study_that_airflow_never_sees_is_refused_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").touch()
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    monkeypatch.setattr(run, "_STUDY_POLL_S", 0.01)
    monkeypatch.setattr(run, "_STUDY_SEEN_WITHIN_S", 0.05)
    runs = SlowToSee(looks=-1)
    with pytest.raises(BadInputError, match="refuses the study"):
        run.start_or_join(tmp_path / "configs", runs, "r", {"study": "mine", "campaign": "c"})
    assert runs.asked_to_read == 1


def test_a_missing_study_is_refused_immediately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STUDIES", str(tmp_path))
    runs = SlowToSee(looks=3)
    with pytest.raises(BadInputError, match="refuses the study"):
        run.start_or_join(tmp_path / "configs", runs, "r", {"study": "mine", "campaign": "c"})
    assert (runs.looks, runs.asked_to_read) == (3, 0)


def test_a_study_that_airflow_offers_is_triggered_without_a_wait(tmp_path: Path) -> None:
    runs = SlowToSee(looks=3)
    run.start_or_join(tmp_path / "configs", runs, "r", {"study": "quick", "campaign": "c"})
    assert (runs.triggered, runs.asked_to_read) == (["r"], 0)


class SlowToStart(SlowToSee):
    """Makes a run only after a while, in which another process may look for one."""

    def __init__(self) -> None:
        super().__init__(looks=0)
        self.asked, self.may_start = Event(), Event()

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        return [(run_id, {"study": "quick", "campaign": "c"}) for run_id in self.triggered]

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:
        self.asked.set()
        assert self.may_start.wait(30)
        super().trigger(run_id, parameters)


def test_of_two_starts_of_one_campaign_at_the_same_moment_the_second_joins_the_first(tmp_path: Path) -> None:
    runs, parameters = SlowToStart(), {"study": "quick", "campaign": "c"}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run.start_or_join, tmp_path, runs, "first", parameters)
        assert runs.asked.wait(30)
        second = pool.submit(run.start_or_join, tmp_path, runs, "second", parameters)
        with pytest.raises(TimeoutError):
            second.result(0.2)
        runs.may_start.set()
        assert (first.result(30), second.result(30)) == ("first", "first")
    assert runs.triggered == ["first"]


class InterruptedRuns(SlowToSee):
    """Ctrl-C arrives while the run is asked for; Airflow may make it all the same, after some looks."""

    def __init__(self, looks: int) -> None:
        super().__init__(looks)
        self.stopped: list[str] = []

    def trigger(self, run_id: str, parameters: dict[str, Any]) -> None:  # noqa: ARG002
        raise KeyboardInterrupt

    def has(self, run_id: str) -> bool:  # noqa: ARG002
        self.looks -= 1
        return self.looks == 0

    def tasks(self, run_id: str) -> list[TaskRun]:
        if self.looks:
            raise AirflowRefusedError(f"no run {run_id}", 404, "")
        return []

    def stop(self, run_id: str) -> None:
        self.stopped.append(run_id)


@pytest.mark.parametrize(("looks", "said"), [(-1, "No run was started."), (2, "Stopped.")])
def test_ctrl_c_before_there_is_a_run_stops_one_that_appears_and_says_if_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], looks: int, said: str
) -> None:
    monkeypatch.setattr(run, "_START_POLL_S", 0.01)
    monkeypatch.setattr(run, "_STARTED_WITHIN_S", 0.05 if looks < 0 else 30)
    runs = InterruptedRuns(looks)
    stack, store = Stack(tmp_path, read_ports({})), FolderStore(tmp_path / "store")
    assert run.run_campaign(stack, runs, store, {"study": "quick", "campaign": "c"}) == 130
    assert said in capsys.readouterr().out
    assert len(runs.stopped) == (looks > 0)


class JoinedRuns(SlowToSee):
    """A run started by another user works on the campaign; Ctrl-C arrives while it is followed."""

    def __init__(self) -> None:
        super().__init__(looks=0)
        self.stopped: list[str] = []

    def active(self) -> list[tuple[str, dict[str, Any]]]:
        return [("theirs", {"study": "quick", "campaign": "c"})]

    def address(self, run_id: str) -> str:
        return f"http://airflow/{run_id}"

    def state(self, run_id: str) -> str:  # noqa: ARG002
        raise KeyboardInterrupt

    def stop(self, run_id: str) -> None:
        self.stopped.append(run_id)


def test_ctrl_c_stops_following_a_run_that_somebody_else_has_started_and_the_run_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, stack = JoinedRuns(), Stack(tmp_path, read_ports({}))
    code = run.run_campaign(stack, runs, FolderStore(tmp_path / "store"), {"study": "quick", "campaign": "c"})
    assert (code, runs.stopped, runs.triggered) == (130, [], [])
    assert "No longer following. The run continues: http://airflow/theirs\n" in capsys.readouterr().out
