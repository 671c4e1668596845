"""The front door: `make` and the command line, where nothing is started."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from kafka_pareto.study.requests import ActiveRequest, RollBackRequest, RunRequest, StudyRequest
from kafka_pareto_cli.app import app
from kafka_pareto_embedded.bootstrap.ports import VARIABLES
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.terminal.as_typed import make_name

pytestmark = [pytest.mark.fast, pytest.mark.slow]

ROOT = Path(__file__).parents[3]


def _stack(state: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Calls a command in this process: one of its own would first import the library, which takes seconds."""
    environment |= {"PATH": os.environ["PATH"], "KAFKA_PARETO_STATE": str(state)}
    with patch.dict(os.environ, environment, clear=True):
        done = CliRunner().invoke(app, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder that is not there yet; its path is short, as pytest's own may be too long for a socket."""
    with TemporaryDirectory(prefix="kp-") as folder:
        yield Path(folder) / "state"


def test_make_without_a_target_explains_every_target() -> None:
    said = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    explained = set(re.findall(r"^  make (\S+) +\S", said, re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    parts = {"help", "in-force", "preflight", "preflight-start", "preflight-run", "preflight-tests", "setup-tests"}
    parts |= {"preflight-ingest", "compose-backup", "compose-restore"}  # these: docs/containers.md
    parts |= {"test-kubernetes"}  # of test-compose: docs/development.md
    assert explained == set(phony.group(1).split()) - parts


def test_an_option_is_text_to_make_and_to_the_shell(tmp_path: Path) -> None:
    nasty = f"costs $5'; touch {tmp_path / 'a'}; '$(touch {tmp_path / 'b'}) $(shell touch {tmp_path / 'c'})"
    received = "received: ; @printenv KAFKA_PARETO_OPTION_STUDY KAFKA_PARETO_OPTION_REASON"
    said = subprocess.run(
        ["make", "--no-print-directory", f"--eval={received}", "received", f"STUDY={nasty}"],
        env={**os.environ, "REASON": nasty},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    assert said == f"{nasty}\n" * 2
    assert list(tmp_path.iterdir()) == []


def test_clean_keeps_the_folder_that_a_link_names(tmp_path: Path) -> None:
    checkout, disk = tmp_path / "checkout", tmp_path / "large-disk"
    checkout.mkdir()
    (disk / "venv" / "bin").mkdir(parents=True)
    (checkout / "Makefile").write_text((ROOT / "Makefile").read_text())
    (checkout / ".state").symlink_to(disk)
    argv = ["make", "--no-print-directory", "clean"]
    subprocess.run(argv, cwd=checkout, env={"PATH": os.environ["PATH"]}, timeout=60, check=True)
    assert (checkout / ".state").is_symlink()
    assert list(disk.iterdir()) == []


def test_an_interrupted_installation_blocks_no_command(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".state" / "venv" / "bin").mkdir(parents=True)
    (checkout / "Makefile").write_text((ROOT / "Makefile").read_text())
    (checkout / ".state" / "venv" / "bin" / "python").symlink_to("/bin/false")
    environment = {"PATH": os.environ["PATH"]}
    for target, said in (
        ("down", ""),
        ("status", "The stack is down and not set up yet; start it with `make up`.\n"),
        ("clean", ""),
    ):
        argv = ["make", "--no-print-directory", target]
        done = subprocess.run(
            argv, cwd=checkout, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    assert not (checkout / ".state").exists()


def test_a_stack_that_never_was_is_down(tmp_path: Path) -> None:
    assert _stack(tmp_path / "none", "status").stdout == "The stack is down.\n"


def test_down_is_silent_where_nothing_runs(tmp_path: Path) -> None:
    done = _stack(tmp_path / "none", "down")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_clean_leaves_a_folder_without_a_stack_alone(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.tex"
    precious.write_text("…")
    done = _stack(tmp_path, "clean")
    assert done.returncode == 65
    assert "not removed, since it contains no .kafka-pareto-state" in done.stderr
    assert precious.exists()


def test_clean_leaves_a_folder_alone_that_lacks_this_projects_mark_whatever_it_holds(tmp_path: Path) -> None:
    for name in ("ports.json", "secrets.env", "thesis.tex"):
        (tmp_path / name).write_text("{}")
    done = _stack(tmp_path, "clean")
    assert done.returncode == 65
    assert "contains no .kafka-pareto-state" in done.stderr
    assert (tmp_path / "thesis.tex").exists()


def test_clean_removes_the_folder_that_a_start_has_marked(state: Path) -> None:
    assert _stack(state, "up", **{VARIABLES["mlflow"]: "no port"}).returncode == 65
    assert _stack(state, "clean").returncode == 0
    assert not state.exists()


def test_up_refuses_a_taken_port_in_one_line_before_anything_starts(state: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        done = _stack(state, "up", **{VARIABLES["mlflow"]: port})
    assert done.returncode == 65
    assert f"error: port {port} (mlflow) is in use" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (state / "secrets.env").exists()


def test_up_leaves_a_folder_with_other_files_alone(state: Path) -> None:
    state.mkdir()
    (state / "thesis.tex").write_text("…")
    done = _stack(state, "up")
    assert done.returncode == 65
    assert done.stderr == (
        f"error: KAFKA_PARETO_STATE={state}: contains files that do not belong to a stack; choose an empty or a new "
        "folder\n"
    )
    assert [path.name for path in state.iterdir()] == ["thesis.tex"]


def test_up_refuses_an_invalid_port_makes_the_state_folder_private_and_can_be_retried(
    state: Path,
) -> None:
    (state / "ingestions").mkdir(parents=True, mode=0o755)  # by `ingest` to another cluster
    for _ in range(2):
        done = _stack(state, "up", **{VARIABLES["airflow"]: "eighty"})
        assert (done.returncode, done.stdout) == (65, "")
        assert done.stderr == f"error: {VARIABLES['airflow']}=eighty: must be a port from 1024 to 65535\n"
    assert state.stat().st_mode & 0o777 == 0o700


def test_run_refuses_an_unknown_study_before_anything_starts(tmp_path: Path) -> None:
    done = _stack(tmp_path / "state", "run", KAFKA_PARETO_OPTION_STUDY="quikc")
    assert done.returncode == 65
    assert "error: " in done.stderr
    assert "quikc: there is no such study; there are broker_lost, client_upgrade, " in done.stderr
    assert not (tmp_path / "state").exists()


def test_run_treats_an_empty_option_from_make_as_not_given(state: Path) -> None:
    names = (
        "STUDY",
        "CAMPAIGN",
        "SEED",
        "REPETITIONS",
        "WARM_START",
        "KAFKA",
        "KAFKA_CONFIG",
        "CEILING_GIB",
        "CONSENT",
    )
    empty = {f"KAFKA_PARETO_OPTION_{name}": "" for name in names}
    done = _stack(state, "run", **empty, **{VARIABLES["airflow"]: "eighty"})
    # It has got as far as the start of the stack, so the options were read.
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr == f"error: {VARIABLES['airflow']}=eighty: must be a port from 1024 to 65535\n"


def _make(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "-o", "setup", "-o", "preflight-start", "-o", "preflight-run", *arguments],
        env={"PATH": os.environ["PATH"], "KAFKA_PARETO_STATE": str(state)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_unusable_make_option_is_named_before_anything_starts(tmp_path: Path) -> None:
    done = _make(tmp_path / "state", "run", "SEED=many", "SEDE=3")
    assert done.returncode == 2  # make's own
    assert "error: SEDE=3: make run has no such option; did you mean SEED?\n" in done.stderr
    assert "error: SEED=many: must be a whole number\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state").exists()


def test_commands_that_need_the_stack_say_how_to_start_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
    with pytest.raises(
        StackError, match=r"the stack is down; start it with `make up`, then run the same command again"
    ):
        lifecycle.running()


def test_help_fits_a_screen_of_forty_lines_and_names_every_option() -> None:
    said = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert len(said.splitlines()) <= 40
    assert max(map(len, said.splitlines())) <= 110
    options = {
        make_name(name)
        for model in (RunRequest, RollBackRequest, StudyRequest, ActiveRequest)
        for name in model.model_fields
    }
    assert {option for option in options if f"{option}=" not in said} == set()


def test_doctor_looks_at_this_machine_alone_where_nothing_runs_and_ends_well(state: Path) -> None:
    done = _stack(state, "doctor")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Checked: this machine only")
    assert re.fullmatch(r"\d+ checks: .* not checked", done.stdout.splitlines()[-1])
    assert not state.exists()


def test_doctor_names_a_cluster_that_does_not_answer_and_keeps_its_password(state: Path, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("ssl.key.password=hunter2\n")
    options = {"KAFKA": "127.0.0.1", "KAFKA_CONFIG": str(config)}  # no port: Kafka's client refuses it at once
    done = _stack(state, "doctor", **{f"KAFKA_PARETO_OPTION_{name}": value for name, value in options.items()})
    assert done.returncode == 75
    assert done.stderr.startswith("error: Kafka cluster 127.0.0.1: connect: ")
    assert "hunter2" not in done.stdout + done.stderr


def test_doctor_refuses_a_file_that_is_not_there(state: Path) -> None:
    done = _stack(state, "doctor", KAFKA_PARETO_OPTION_PRODUCER="/none.properties")
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr == "error: PRODUCER=/none.properties: cannot be read: No such file or directory\n"


def test_sizing_prints_both_numbers_where_the_guide_has_one(state: Path) -> None:
    options = {"RECORDS_S": "1000000", "RECORD_SIZE": "1000"}
    done = _stack(state, "sizing", **{f"KAFKA_PARETO_OPTION_{name}": value for name, value in options.items()})
    assert done.returncode == 0, done.stderr
    assert re.search(r"total +4\.00 GB/s \(32\.0 Gbit/s\) +1\.33 GB/s \(10\.7 Gbit/s\)", done.stdout)


def test_sizing_names_each_option_that_is_missing_or_wrong(state: Path) -> None:
    done = _stack(state, "sizing", KAFKA_PARETO_OPTION_RECORDS_S="0", KAFKA_PARETO_OPTION_BROKER="3")
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr.splitlines()[:3] == [
        "error: BROKER=3: make sizing has no such option; did you mean BROKERS?",
        "error: RECORDS_S=0: must be above 0",
        "error: RECORD_SIZE is missing",
    ]
