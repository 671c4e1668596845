"""The preflight: missing tools are reported one per line, before anything is installed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kafka_pareto_embedded.bootstrap import preflight
from kafka_pareto_embedded.bootstrap.ports import VARIABLES
from kafka_pareto_embedded.bootstrap.preflight import (
    BROWSERS,
    Problem,
    data_gib_of_run,
    find_browser,
    log_pipeline_problems,
    needed_disk_gib,
    problems_for_tests,
    setup_problems,
    start_problems,
    state_folder,
)

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[3]
INCLUDE = ROOT / "include"


def _tool(folder: Path, name: str, says: str) -> None:
    script = folder / name
    script.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    script.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH on which everything that set-up asks for is found, in one folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    _tool(folder, "java", 'openjdk version "17.0.15" 2025-04-15')
    for name in ("javac", "mvn", "setpriv"):
        _tool(folder, name, "")
    _tool(folder, "go", "go version go1.26.8 linux/amd64")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _installed(machine: Path, part: str) -> None:
    stamps = machine.parent / "tools" / "stamps"
    stamps.mkdir(parents=True, exist_ok=True)
    (stamps / part).touch()


def _problems(machine: Path, **environment: str) -> list[Problem]:
    return setup_problems(machine.parent / "tools", environment)


def test_a_machine_with_everything_has_no_problem(machine: Path) -> None:
    assert _problems(machine) == []


@pytest.mark.parametrize(
    ("tool", "message", "package"),
    [
        ("java", "Java is missing: install a JDK 17", "default-jdk-headless"),
        ("javac", "install a JDK, not a JRE", "default-jdk-headless"),
        ("mvn", "Maven is missing: install it", "maven"),
        ("go", "MinIO is missing, and so is Go to build it: install Go", ""),
        ("setpriv", "setpriv is missing: install util-linux", "util-linux"),
    ],
)
def test_a_missing_tool_is_one_line_with_its_fix(machine: Path, tool: str, message: str, package: str) -> None:
    (machine / tool).unlink()
    [problem] = _problems(machine)
    assert message in problem.text
    assert problem.package == package


@pytest.mark.parametrize(("version", "found"), [("11.0.2", "Java 11"), ("1.8.0_402", "Java 8")])
def test_too_old_a_java_is_named_with_its_version(machine: Path, version: str, found: str) -> None:
    _tool(machine, "java", f'openjdk version "{version}" 2019-01-15')
    [problem] = _problems(machine)
    assert f"is {found}, too old: install a JDK 17 or newer" in problem.text


def test_too_old_a_go_is_named_with_its_version(machine: Path) -> None:
    _tool(machine, "go", "go version go1.19.8 linux/amd64")
    # `go version` writes to stdout, the script to stderr: the preflight reads both.
    [problem] = _problems(machine)
    assert problem.text == (
        "go1.19 is too old to build MinIO: install Go 1.21 or newer (https://go.dev/dl), "
        "or put a minio binary on the PATH"
    )


def test_go_is_not_asked_for_where_minio_is(machine: Path) -> None:
    (machine / "go").unlink()
    _tool(machine, "minio", "")
    assert _problems(machine) == []


def _log_pipeline_problems(machine: Path, study: str) -> list[Problem]:
    environment = {"KAFKA_PARETO_OPTION_STUDY": study}
    return log_pipeline_problems(machine.parent / "tools", environment, server_folders=str(machine / "sbin"))


def test_a_log_pipelines_study_asks_for_go_nginx_and_mariadb(machine: Path) -> None:
    (machine / "go").unlink()
    problems = _log_pipeline_problems(machine, "log_pipeline")
    assert [problem.package for problem in problems] == ["golang-go", "nginx-light", "mariadb-server"]
    assert [problem.text.split(" is missing")[0] for problem in problems] == ["Go", "nginx", "MariaDB"]

    _tool(machine, "go", "go version go1.26.8 linux/amd64")
    _tool(machine, "mariadbd", "")
    (machine / "sbin").mkdir()
    _tool(machine / "sbin", "nginx", "")
    assert _log_pipeline_problems(machine, "log_pipeline") == []


def test_a_study_on_sqlite_needs_no_mariadb_and_parts_that_are_built_no_go(machine: Path) -> None:
    (machine / "go").unlink()
    _tool(machine, "nginx", "")
    [problem] = _log_pipeline_problems(machine, "log_pipeline_quick")
    assert "Go is missing; it builds Filebeat and the Collector: install Go 1.21 or newer" in problem.text

    _installed(machine, "filebeat")
    assert len(_log_pipeline_problems(machine, "log_pipeline_quick")) == 1
    _installed(machine, "collector")
    assert _log_pipeline_problems(machine, "log_pipeline_quick") == []


def test_too_old_a_go_cannot_build_filebeat(machine: Path) -> None:
    _tool(machine, "go", "go version go1.19.8 linux/amd64")
    _tool(machine, "nginx", "")
    [problem] = _log_pipeline_problems(machine, "log_pipeline_quick")
    assert problem.text.startswith("go1.19 is too old to build Filebeat and the Collector: install Go 1.21")


def test_spark_does_not_run_on_a_java_that_all_else_runs_on(machine: Path) -> None:
    _tool(machine, "nginx", "")
    _tool(machine, "java", 'openjdk version "21.0.4" 2024-07-16')
    assert _problems(machine) == []
    [problem] = _log_pipeline_problems(machine, "log_pipeline_quick")
    assert "is Java 21, which Spark 3.5 does not support: set JAVA_HOME to a JDK 17" in problem.text


@pytest.mark.parametrize(("study", "is_asked"), [("log_pipeline_quick", True), ("quick", False)])
def test_only_a_run_of_a_log_pipelines_study_asks_for_its_parts(study: str, is_asked: bool) -> None:
    said = _make("run", f"STUDY={study}")
    assert said.startswith("python3 -B -m kafka_pareto_embedded.bootstrap.preflight --start")
    assert ("--log-pipeline" in said) == is_asked


def test_maven_is_not_asked_for_once_kafka_is_installed(machine: Path) -> None:
    (machine / "mvn").unlink()
    _installed(machine, "kafka")
    assert _problems(machine) == []


def _install(machine: Path) -> Path:
    _tool(machine, "minio", "")
    for part in ("kafka", "python"):
        _installed(machine, part)
    return machine.parent / "tools"


@pytest.mark.parametrize(
    ("study", "kafka", "tools_gib", "data_gib"),
    [("", "", 11, 9), ("quick", "", 11, 9), ("quick", "host:9092", 7, 4), ("ingest_quick", "", 7, 4)],  # 11: README
)
def test_the_disk_of_a_run_must_fit_the_installation_and_the_data(
    machine: Path, study: str, kafka: str, tools_gib: int, data_gib: int
) -> None:
    tools, state = machine.parent / "tools", machine.parent / "state"
    data = data_gib_of_run({"KAFKA_PARETO_OPTION_STUDY": study, "KAFKA_PARETO_OPTION_KAFKA": kafka})
    assert needed_disk_gib(tools, state, data) == {machine.parent: tools_gib}
    assert list(needed_disk_gib(_install(machine), state, data).values()) == [data_gib]


def test_a_command_without_data_needs_space_only_for_missing_tools(machine: Path) -> None:
    tools, state = machine.parent / "tools", machine.parent / "state"
    assert list(needed_disk_gib(tools, state, 0).values()) == [3]
    assert list(needed_disk_gib(_install(machine), state, 0).values()) == [0]


def test_data_are_written_to_the_disk_of_the_state_folder(machine: Path) -> None:
    elsewhere = Path("/proc/state")  # always another disk
    needed = needed_disk_gib(machine.parent / "tools", elsewhere, 4)
    assert needed == {machine.parent: 3, Path("/proc"): 4}


def test_too_small_a_disk_is_reported_in_gib(machine: Path, tmp_path: Path) -> None:
    [problem] = setup_problems(_install(machine), {"KAFKA_PARETO_STATE": str(tmp_path / "state")}, 10**6)
    assert "GiB free under" in problem.text
    assert "1000000 GiB needed: free some space" in problem.text


@pytest.mark.parametrize(
    ("target", "is_checked"), [("ingest", True), ("up", True), ("backup", False), ("remove-topics", False)]
)
def test_only_targets_that_write_data_check_the_space_for_it(target: str, is_checked: bool) -> None:
    checks = re.findall(r"bootstrap\.preflight( --start| --ingest)", _make(target))
    assert bool(checks) == is_checked


def test_java_home_goes_before_the_path(machine: Path, tmp_path: Path) -> None:
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    _tool(home / "bin", "java", 'openjdk version "11.0.2"')
    _tool(home / "bin", "javac", "")
    assert "Java 11" in _problems(machine, JAVA_HOME=str(home))[0].text


@pytest.mark.parametrize("name", BROWSERS)
def test_a_browser_on_the_path_is_used_and_make_fetches_none(machine: Path, name: str) -> None:
    assert find_browser() is None
    assert "stamps/browser" in _make("test-studies")
    _tool(machine, name, "")
    assert find_browser() == str(machine / name)
    assert "stamps/browser" not in _make("test-studies")


def test_the_browser_is_looked_for_before_anything_is_built() -> None:
    said = _make("test")
    assert said.index("preflight --tests") < said.index("-m ruff")
    assert said.startswith("python3 -B -m kafka_pareto_embedded.bootstrap.preflight --tests")


@pytest.mark.parametrize(("machine_kind", "packages"), [("x86_64", []), ("aarch64", ["chromium"])])
@pytest.mark.usefixtures("machine")
def test_a_browser_is_asked_for_only_where_none_can_be_fetched(
    machine_kind: str, packages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine_kind)
    assert [problem.package for problem in problems_for_tests()] == packages


def _preflight(option: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    # -S: without site-packages, as before set-up
    argv = [sys.executable, "-S", "-B", "-m", "kafka_pareto_embedded.bootstrap.preflight", option]
    return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_all_missing_tools_are_listed_together_with_their_packages(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    checkout = tmp_path / "include"
    shutil.copytree(INCLUDE / "kafka_pareto_embedded", checkout / "kafka_pareto_embedded")
    done = _preflight("--tests", {"PATH": str(tmp_path / "bin"), "PYTHONPATH": str(checkout)})
    assert done.returncode == 1
    *errors, packages = done.stderr.splitlines()
    for missing in ("Java", "Maven", "setpriv", "MinIO"):
        assert sum(line.startswith(f"error: {missing}") for line in errors) == 1
    words = packages.split()
    assert packages.startswith("On Debian or Ubuntu: apt-get install ")
    assert {"default-jdk-headless", "maven", "util-linux"} <= set(words)
    assert not (tmp_path / ".state").exists()


def test_a_state_folder_too_deep_for_a_socket_is_refused() -> None:
    problems = start_problems(Path("/tmp") / ("deep" * 30), {})  # noqa: S108 (never made)
    assert len(problems) == 1
    assert "too long for a socket: choose a shorter one with KAFKA_PARETO_STATE=…" in problems[0]


def test_the_state_folder_is_the_checkouts_unless_chosen(tmp_path: Path) -> None:
    assert state_folder({}) == INCLUDE.parent / ".state"
    assert state_folder({"KAFKA_PARETO_STATE": str(tmp_path)}) == tmp_path


def test_an_installed_command_keeps_its_state_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "PROJECT", tmp_path / "lib")  # not a checkout
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder({}) == tmp_path / ".local" / "state" / "kafka-pareto"
    assert state_folder({"XDG_STATE_HOME": str(tmp_path / "xdg")}) == tmp_path / "xdg" / "kafka-pareto"
    assert state_folder({"KAFKA_PARETO_STATE": "~/mine"}) == tmp_path / "mine"


def _make(*targets: str) -> str:
    """List, without running them, the commands that make would run on the test's PATH with no browser fetched."""
    path = os.environ["PATH"]
    make = shutil.which("make", path=f"{path}:/usr/bin:/bin")
    assert make is not None
    return subprocess.run(
        [make, "--no-print-directory", "-n", "-W", "tests/browser/fetched/package.json", *targets],
        cwd=ROOT,
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout


@pytest.mark.parametrize("has_been_up", [False, True])
def test_the_command_runs_without_any_installed_package_and_reports_a_taken_port_before_a_first_start(
    has_been_up: bool,
) -> None:
    # A short path: pytest's own may be too long for a socket.
    with TemporaryDirectory(prefix="kp-") as state, socket.socket() as listener:
        if has_been_up:  # leftovers of that stack may hold its ports: `up` ends them, and looks then
            (Path(state) / "ports.json").touch()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(INCLUDE),
            "KAFKA_PARETO_STATE": state,
            VARIABLES["minio"]: port,
        }
        done = _preflight("--start", environment)
    assert (f"error: port {port} (minio) is in use" in done.stderr) != has_been_up
    assert has_been_up or done.returncode == 1
    assert "Traceback" not in done.stderr
