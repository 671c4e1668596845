"""`make run`'s follower on a real Airflow; only the steps behind the command lines are stand-ins."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafka_pareto.artifacts import DESIGN_COLUMNS, encode_table
from kafka_pareto.design import design_table
from kafka_pareto.errors import BadInputError
from kafka_pareto.planning import plan_campaign
from kafka_pareto.store import FolderStore
from kafka_pareto.study_file import dump_study
from kafka_pareto_embedded.airflow_runs import AirflowRuns
from kafka_pareto_embedded.run import run_campaign
from kafka_pareto_embedded.stack import DAG_ID, Stack
from kafka_pareto_embedded.waiting import wait_until
from tests.dags.airflow_server import running_airflow
from tests.recorded import paper_study

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]

STEP = """
import json, os, pathlib, sys, time
step, campaign = pathlib.Path(__file__).stem, sys.argv[2].removeprefix("--campaign=")
store = pathlib.Path(os.environ["KAFKA_PARETO_STORE_FOLDER"]) / "paper" / campaign

def write(key, text=""):
    path = store / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

if step == "design":
    if campaign == "unasked":
        print("plan: 8 repetitions, about 1 minutes")
        sys.exit(print("error: it starts only with your consent", file=sys.stderr) or 65)
    write("study.yaml", (store.parent / "study.yaml").read_text())
    write("plan.json", (store.parent / "plan.json").read_text())
    (store / "round=00").mkdir(exist_ok=True)
    (store / "round=00/01_design.parquet").write_bytes((store.parent / "design.parquet").read_bytes())
size = sys.argv[3].removeprefix("--record-size=") if len(sys.argv) > 3 else ""
if step == "measure":
    for number in range(3):
        write(f"round=00/02_measurements/{size}/{number}.json")
    if campaign == "hanging":
        write(f"{size}.pid", str(os.getpid()))
        time.sleep(600)
if step == "validate":
    if campaign == "bad":
        sys.exit(print("error: 9 of 10 rows were set aside\\n  row b000: negative latency", file=sys.stderr) or 65)
    write("round=00/03_validation/data_docs/index.html", "<html>docs</html>")
    write("round=00/03_validation/data_docs/static/page.html", "<html>page</html>")
if step == "confirm":
    write(f"06_confirmation/{size}/repetitions/0.json")
if step == "report":
    write("07_report/cards.txt", "THE CARDS")
    write("07_report/report.html", "<html>report</html>")
sizes = [] if step == "propose" else [1024, 65636]  # the paper has no rounds
print(json.dumps({"step": step, "record_sizes_bytes": sizes}))
"""


@pytest.fixture(scope="module")
def store_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    study = paper_study().model_copy(update={"record_sizes_bytes": [1024, 65636]})
    (folder / "paper").mkdir()
    (folder / "paper" / "study.yaml").write_text(dump_study(study))
    (folder / "paper" / "plan.json").write_text(plan_campaign(study).model_dump_json())
    (folder / "paper" / "design.parquet").write_bytes(encode_table(design_table(study), DESIGN_COLUMNS, study))
    return folder


@pytest.fixture(scope="module")
def stack(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    project = tmp_path_factory.mktemp("project")
    (project / "tasks").mkdir()
    for step in ("design", "propose", "measure", "validate", "train", "optimize", "confirm", "report"):
        (project / "tasks" / f"{step}.py").write_text(STEP)
    (project / "include").symlink_to(Path(__file__).parent.parent.parent / "include")
    steps_see = {"KAFKA_PARETO_PROJECT_ROOT": str(project), "KAFKA_PARETO_STORE_FOLDER": str(store_folder)}
    with running_airflow(tmp_path_factory.mktemp("stack"), steps_see) as stack:
        yield stack


@pytest.fixture
def runs(stack: Stack) -> Iterator[AirflowRuns]:
    login = stack.credentials
    runs = AirflowRuns(stack.airflow_url, DAG_ID, login.airflow_admin_user, login.airflow_admin_password)
    yield runs
    runs.close()


def tune(stack: Stack, runs: AirflowRuns, store_folder: Path, campaign: str) -> int:
    return run_campaign(stack, runs, FolderStore(store_folder), {"study": "paper", "campaign": campaign})


def test_follows_a_campaign_to_its_cards_and_addresses(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(stack, runs, store_folder, "good") == 0
    said = capsys.readouterr().out
    for line in ("measure (1024 B): done", "measure (65636 B): done", "report: done", "THE CARDS"):
        assert line in said
    assert "round 1" not in said  # the study is a one shot
    assert "\x1b" not in said
    folder = stack.reports / "paper" / "good"
    assert f"Report     file://{folder}/report.html" in said
    assert f"Data Docs  file://{folder}/data_docs/index.html" in said
    assert (folder / "data_docs" / "static" / "page.html").read_text() == "<html>page</html>"
    assert f"Airflow    {stack.airflow_url}/dags/tune_producer/runs/good__" in said


def test_says_which_task_failed_with_the_steps_own_words_and_what_to_do(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(stack, runs, store_folder, "bad") == 1
    said = capsys.readouterr().out
    assert "validate failed:\n  error: 9 of 10 rows were set aside\n    row b000: negative latency\n\n" in said
    assert "start a new campaign with `make run`" in said
    assert "Traceback" not in said


def test_shows_a_plan_that_lacks_the_users_consent_and_how_to_give_it(
    stack: Stack, runs: AirflowRuns, store_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(stack, runs, store_folder, "unasked") == 1
    said = capsys.readouterr().out
    assert "design failed:\n  plan: 8 repetitions, about 1 minutes\n  error: it starts only with your consent\n" in said
    assert "with CONSENT=yes" in said


def test_ctrl_c_stops_the_load_and_says_how_to_go_on(
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
    assert "It has stopped." in said
    assert "make run STUDY=paper CAMPAIGN=hanging" in said
    wait_until("the step is gone", lambda: not psutil.pid_exists(pids[0]), 10, "it was left behind")
    assert runs.active() == []


def test_a_parameter_that_the_schema_refuses_is_one_clear_message(runs: AirflowRuns) -> None:
    with pytest.raises(BadInputError, match="'no such study' is not one of"):
        runs.trigger("refused", {"study": "no such study"})
