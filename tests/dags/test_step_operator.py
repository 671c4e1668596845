"""The step operator with real processes: its arguments, its handling of exit codes, and that nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk import DAG, Asset
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowTaskTimeout,
    DownstreamTasksSkipped,
)
from airflow.sdk.execution_time.context import OutletEventAccessors
from airflow.sdk.execution_time.task_runner import _run_execute_callable

from kafka_pareto_airflow.steps.step_operator import StepOperator
from kafka_pareto_embedded.lifecycle.waiting import holds_within, wait_until
from tests.alarm import timeout_after
from tests.dags.conftest import PROJECT

pytestmark = [pytest.mark.fast, pytest.mark.slow]

MANIFEST = json.dumps({"step": "tried", "cases": ["1024", "8192"], "counts": {}})


class PushedXComs(dict[str, Any]):
    """Stand-in for the task instance; the operator uses only this method."""

    def xcom_push(self, key: str, value: Any) -> None:
        self[key] = value


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tasks").mkdir()
    monkeypatch.setenv("KAFKA_PARETO_PROJECT_ROOT", str(tmp_path))
    return tmp_path


def execute(root: Path, code: str, pushed: PushedXComs | None = None, **options: Any) -> Any:
    """Run a step with this code as a task would, its execution timeout included."""
    (root / "tasks" / "tried.py").write_text(code, encoding="utf-8")
    with DAG("try", schedule=None):
        operator = StepOperator(task_id="tried", step="tried", **{"arguments": [], **options})
    context: Any = {"ti": PushedXComs() if pushed is None else pushed}
    return _run_execute_callable(context, operator.execute, operator)


@pytest.mark.parametrize("event", [{"study": "quick"}, {}])
def test_asset_events_carry_the_manifest_and_without_one_there_is_none(root: Path, event: dict[str, Any]) -> None:
    manifest = json.dumps({"cases": ["1024"], "event": event})
    (root / "tasks" / "tried.py").write_text(f"print({manifest!r})", encoding="utf-8")
    asset = Asset("moved")
    with DAG("try", schedule=None):
        operator = StepOperator(task_id="tried", step="tried", arguments=[], outlets=[asset])
    context: Any = {"ti": PushedXComs(), "outlet_events": OutletEventAccessors()}
    _run_execute_callable(context, operator.execute, operator)
    assert operator.outlets == ([asset] if event else [])
    assert not event or context["outlet_events"][asset].extra == event


def test_output_after_a_manifest_is_an_error_that_quotes_it(root: Path) -> None:
    with pytest.raises(AirflowFailException, match=r"step tried printed 'and a warning' after its manifest"):
        execute(root, f"print({MANIFEST!r}); print('late'); print('and a warning')")


def logged(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The events of the log, without their time and place."""
    return [line.split("] ", 1)[1].split(" [")[0].strip() for line in capsys.readouterr().out.splitlines()]


def test_the_log_ends_with_the_steps_words_for_people_and_not_with_its_manifest(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(root, f"print('{{not yet the end}}'); print('THE CARDS'); print({MANIFEST!r})")
    assert logged(capsys)[-2:] == ["{not yet the end}", "THE CARDS"]


def test_the_last_line_of_a_step_that_failed_is_in_the_log(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AirflowException):
        execute(root, "import sys; print('{why}'); sys.exit(75)")
    assert logged(capsys)[-2:] == ["{why}", "Command exited with return code 75"]


def test_without_a_record_size_all_later_tasks_are_skipped_immediately(root: Path) -> None:
    nothing = json.dumps({"cases": []})
    (root / "tasks" / "tried.py").write_text(f"print({nothing!r})", encoding="utf-8")
    with DAG("try", schedule=None):
        tried, mapped_over, after, lenient, last = (
            StepOperator(
                task_id=name,
                step="tried",
                arguments=[],
                trigger_rule="none_failed" if name == "lenient" else "all_success",
            )
            for name in ("tried", "first", "second", "lenient", "last")
        )
        tried >> mapped_over >> after >> lenient >> last
    context: Any = {"ti": PushedXComs()}
    with pytest.raises(DownstreamTasksSkipped) as skipped:
        _run_execute_callable(context, tried.execute, tried)

    assert skipped.value.tasks == ["first", "second"]
    assert context["ti"]["manifest"]["cases"] == []


def ends(pid: int) -> bool:
    """Return whether the process is gone within a few seconds."""
    return holds_within(
        8, lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, 0.05
    )


def written(path: Path) -> str:
    """The file's text, as soon as there is some."""
    wait_until(f"{path} has a text", lambda: path.exists() and path.read_text() != "", 50, poll_s=0.05)
    return path.read_text()


def test_the_last_line_is_the_manifest_and_tasks_are_mapped_over_its_record_sizes(root: Path) -> None:
    pushed = PushedXComs()
    assert execute(root, f"print('log'); print('''{MANIFEST}''')", pushed) == ["1024", "8192"]
    assert pushed == {"manifest": json.loads(MANIFEST)}


def test_a_mapped_step_gets_its_record_size_and_returns_it(root: Path) -> None:
    code = f"import sys; open('argv', 'w').write(' '.join(sys.argv[1:])); print('''{MANIFEST}''')"
    assert execute(root, code, arguments=["--campaign=c", ""], case="8192") == "8192"
    assert (root / "argv").read_text() == "--campaign=c --case=8192"


def test_arguments_are_data_and_never_reach_a_shell(root: Path) -> None:
    code = f"import json, sys; json.dump(sys.argv[1:], open('argv', 'w')); print('''{MANIFEST}''')"
    typed = ["$(touch pwned)", "; touch pwned", "--reason=$HOME ${HOME} $(HOME) $$ %h %(ENV_HOME)s {{ 1 + 1 }} `id` ~"]
    execute(root, code, arguments=typed)
    assert json.loads((root / "argv").read_text()) == typed
    assert not (root / "pwned").exists()


def test_a_step_sees_the_projects_settings_and_nothing_of_airflows(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "an Airflow secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "somebody else's secret")
    monkeypatch.setenv("KAFKA_PARETO_S3_BUCKET", "mine")
    execute(root, f"import json, os; json.dump(dict(os.environ), open('env', 'w')); print('''{MANIFEST}''')")
    seen = json.loads((root / "env").read_text())
    assert seen["KAFKA_PARETO_S3_BUCKET"] == "mine"
    assert seen["PATH"] == os.environ["PATH"]
    assert [name for name in seen if name.startswith("AIRFLOW")] == []
    assert "AWS_SECRET_ACCESS_KEY" not in seen


@pytest.mark.parametrize("code", [65, 77, 2])
def test_refused_input_fails_without_a_retry_and_with_the_steps_own_words_and_code(root: Path, code: int) -> None:
    refusing = f"import sys; print('error: quick.yaml: seed: must be a number', file=sys.stderr); sys.exit({code})"
    pushed = PushedXComs()
    with pytest.raises(AirflowFailException, match=r"^error: quick\.yaml: seed: must be a number$"):
        execute(root, refusing, pushed)
    assert pushed == {"exit_code": code}


def test_any_other_failure_may_be_retried(root: Path) -> None:
    with pytest.raises(AirflowException, match="exit code 75: error: the store is down") as raised:
        execute(root, "import sys; print('error: the store is down', file=sys.stderr); sys.exit(75)")
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("last_line", ["done", "[1, 2]", "{}"])
def test_a_step_without_a_manifest_fails(root: Path, last_line: str) -> None:
    with pytest.raises(AirflowFailException, match="must print its manifest as its last line"):
        execute(root, f"print('{last_line}')")


def test_a_step_that_takes_too_long_is_asked_to_end_and_may_clean_up(root: Path) -> None:
    code = """
import os, signal, sys, time
def end(*_):
    open("cleaned", "w").close()
    sys.exit(143)
signal.signal(signal.SIGTERM, end)
open("pid", "w").write(str(os.getpid()))
time.sleep(60)
"""
    with pytest.raises(AirflowTaskTimeout), timeout_after(lambda: written(root / "pid")):
        execute(root, code, execution_timeout=timedelta(seconds=60))
    assert (root / "cleaned").exists()
    assert ends(int((root / "pid").read_text()))


def test_a_step_that_does_not_end_when_asked_is_killed_with_its_children(root: Path) -> None:
    code = """
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
time.sleep(60)
"""
    with pytest.raises(AirflowTaskTimeout), timeout_after(lambda: written(root / "pids")):
        execute(root, code, execution_timeout=timedelta(seconds=60))
    assert all(ends(int(pid)) for pid in (root / "pids").read_text().split())


def test_a_step_that_has_ended_is_not_signalled_any_more(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "tasks" / "tried.py").write_text(f"print({MANIFEST!r})", encoding="utf-8")
    with DAG("try", schedule=None):
        operator = StepOperator(task_id="tried", step="tried", arguments=[])
    _run_execute_callable({"ti": PushedXComs()}, operator.execute, operator)
    signalled: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda *group_and_signal: signalled.append(group_and_signal))
    operator.on_kill()
    assert signalled == []


def test_a_step_dies_with_a_task_that_is_killed_with_9(root: Path) -> None:
    (root / "tasks" / "tried.py").write_text(
        "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    )
    task = """
from airflow.sdk import DAG
from airflow.sdk.execution_time.task_runner import _run_execute_callable
from kafka_pareto_airflow.steps.step_operator import StepOperator
with DAG("try", schedule=None):
    operator = StepOperator(task_id="tried", step="tried", arguments=[])
_run_execute_callable({}, operator.execute, operator)
"""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT / "include")}
    with subprocess.Popen([sys.executable, "-c", task], env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            pid = int(written(root / "pid"))
            assert psutil.pid_exists(pid)
        finally:
            process.send_signal(signal.SIGKILL)
    assert ends(pid)
