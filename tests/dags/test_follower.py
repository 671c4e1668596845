"""`make run`'s follower on a real Airflow; only the steps behind the command lines are stand-ins."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from kafka_pareto.campaign.client_config import client_config_for_run, client_config_name, keep_client_config
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.study.identifiers import TUNE_DAG_ID
from kafka_pareto.study.requests import RollBackRequest
from kafka_pareto_embedded.lifecycle.lifecycle import sweep_credentials
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from kafka_pareto_embedded.runs.airflow_runs import AirflowRuns, stack_runs
from kafka_pareto_embedded.runs.rollout import roll_back
from kafka_pareto_embedded.runs.run import run_campaign
from kafka_pareto_embedded.stack.stack import Stack
from tests.dags.serving import Served
from tests.unit.embedded.test_rollout import FolderStack, activate

pytestmark = [pytest.mark.studies, pytest.mark.timeout(300)]


@pytest.fixture
def stack(airflow: Served) -> Stack:
    return airflow.stack


@pytest.fixture
def store_folder(airflow: Served) -> Path:
    return airflow.store


@pytest.fixture
def runs(stack: Stack) -> Iterator[AirflowRuns]:
    with stack_runs(stack, TUNE_DAG_ID) as runs:
        yield runs


def tune(stack: Stack, runs: AirflowRuns, store_folder: Path, campaign: str) -> int:
    credentials = partial(client_config_for_run, stack.client_configs, campaign, text="sasl.jaas.config=hidden")
    parameters = {"study": "paper", "campaign": campaign, "client_config": client_config_name(campaign)}
    return run_campaign(stack, runs, FolderStore(store_folder), parameters, credentials)


def has_client_config(stack: Stack, campaign: str) -> bool:
    return (stack.client_configs / client_config_name(campaign)).exists()


@pytest.mark.long
def test_follows_a_campaign_to_its_cards_and_addresses(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(stack, runs, store_folder, "good") == 0
    said = capsys.readouterr().out
    for line in ("measure (1,024 B): done", "measure (65,636 B): done", "report: done", "RECOMMENDED"):
        assert line in said
    assert "round 1" not in said  # the study is a one shot
    assert "\x1b" not in said
    folder = stack.reports / "paper" / "good"
    assert f"Report     file://{folder}/report.html" in said
    assert f"Data Docs  file://{folder}/data_docs/index.html" in said
    assert (folder / "data_docs" / "static" / "page.html").read_text() == "<html>page</html>"
    assert f"Airflow    {stack.airflow_url}/dags/tune_producer/runs/good__" in said
    assert not has_client_config(stack, "good")


def test_names_the_failed_task_with_the_steps_own_words_and_the_fix(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(stack, runs, store_folder, "bad") == 1
    said = capsys.readouterr().out
    assert "validate failed:\n  error: 9 of 10 rows were set aside\n    row b000: negative latency\n\n" in said
    assert "start a new campaign with the same command" in said
    assert "Traceback" not in said
    assert not has_client_config(stack, "bad")


def test_shows_a_plan_that_lacks_the_users_consent_and_how_to_give_it(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(stack, runs, store_folder, "unasked") == 1
    said = capsys.readouterr().out
    assert "design failed:\n  plan: 8 repetitions, about 1 minutes\n  error: it starts only with your consent\n" in said
    assert "run the same command with --yes" in said


def test_ctrl_c_stops_the_load_and_says_how_to_resume(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pid_files = store_folder / "paper" / "hanging"

    def interrupt_once_loading() -> None:
        wait_until("a step is at work", lambda: any(pid_files.glob("*.pid")), 60, "see its log")
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt_once_loading)
    helper.start()
    assert tune(stack, runs, store_folder, "hanging") == 130
    helper.join()
    said = capsys.readouterr().out
    pids = [int(path.read_text()) for path in pid_files.glob("*.pid")]
    assert len(pids) == 1, "the one-slot pool lets one load at a time onto the cluster"
    assert "Stopped." in said
    assert "kafka-pareto run paper --campaign=hanging --config=…" in said
    assert not has_client_config(stack, "hanging")
    wait_until("the step is gone", lambda: not psutil.pid_exists(pids[0]), 10, "it was left behind")
    assert runs.active() == []


def test_a_campaign_keeps_its_client_configuration_until_it_is_stopped_in_airflow_and_a_killed_one_does_not(
    stack: Stack, runs: AirflowRuns, store_folder: Path
) -> None:
    keep_client_config(stack.client_configs, "hanging", "stopped", "sasl.jaas.config=hidden")
    keep_client_config(stack.client_configs, "killed", "killed", "sasl.jaas.config=hidden")
    for path in (store_folder / "paper" / "hanging").glob("*.pid"):
        path.unlink()
    runs.trigger("stopped", {"study": "paper", "campaign": "hanging", "client_config": client_config_name("hanging")})
    pid_files = store_folder / "paper" / "hanging"
    wait_until("a step is at work", lambda: any(pid_files.glob("*.pid")), 60, "see its log")
    said: list[str] = []
    sweep_credentials(stack, said.append)
    assert said == ["Removed the copy of client.properties of campaign killed: no active run needs it."]
    assert has_client_config(stack, "hanging"), "it is there for as long as the campaign runs"
    keep_client_config(stack.client_configs, "other", "other", "sasl.jaas.config=hidden")
    runs.stop("stopped")
    wait_until("it is gone", lambda: not has_client_config(stack, "hanging"), 30, "see the API server's log")
    assert has_client_config(stack, "other")
    sweep_credentials(stack, said.append)
    assert not has_client_config(stack, "other")
    # Its state is "failed", or "success" where the scheduler has looked last: the last tasks are skipped ones.
    assert runs.active() == []


def test_a_run_that_airflow_refuses_leaves_no_client_configuration(
    stack: Stack, runs: AirflowRuns, store_folder: Path
) -> None:
    credentials = partial(client_config_for_run, stack.client_configs, "refused", text="sasl.jaas.config=hidden")
    parameters = {"study": "paper", "campaign": "refused", "client_config": "refused.properties", "seed": "no number"}
    with pytest.raises(BadInputError, match="no number"):
        run_campaign(stack, runs, FolderStore(store_folder), parameters, credentials)
    assert not has_client_config(stack, "refused")


def test_the_rollback_is_followed_to_its_notice_and_the_active_settings(
    airflow: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    activate(FolderStore(airflow.store), "paper", "1024")
    reason = "$(it) 'was' \"worse\"; --study=x {{ 1 + 1 }}"
    stack = FolderStack(airflow.stack.state, airflow.stack.ports, airflow.store)
    assert roll_back(RollBackRequest(study="paper", case="1024", reason=reason), stack).exit_code == 0
    step, options = airflow.noted("moves")[-1]
    assert (step, options["case"], options["by"], options["reason"]) == ("roll_back", "1024", "admin", reason)
    said = capsys.readouterr().out
    assert "roll_back: done" in said
    assert "accept:" not in said  # the other branch
    assert "paper: rolled back\n1,024 B: version 2 is active\n" in said
    assert "1,024 B: version 1 since" in said  # a stand-in moves nothing


def test_a_parameter_that_the_schema_refuses_is_one_clear_message(runs: AirflowRuns) -> None:
    with pytest.raises(BadInputError, match="STUDY=no such study: must be one of broker_lost, cold_burst, "):
        runs.trigger("refused", {"study": "no such study"})
