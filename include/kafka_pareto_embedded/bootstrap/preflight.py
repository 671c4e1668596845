"""Check the machine for required tools, disk space and free ports, before anything is installed or started.

Uses the standard library only, and syntax of old Pythons: it runs before the environment exists.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Mapping, NamedTuple, Optional  # noqa: UP035 - an old Python must reach the message

PROJECT = Path(__file__).resolve().parents[3]
MIN_PYTHON = (3, 11)
MIN_JAVA = 17
NEWEST_JAVA_OF_SPARK = 17
JDK_PACKAGE = "default-jdk-headless"
MIN_GO = (1, 21)  # since 1.21 Go downloads a newer toolchain if a module requires it (GOTOOLCHAIN=auto)
GO_FIX = "install Go 1.21 or newer (https://go.dev/dl)"
INSTALLED_GIB = 2.7
QUICK_GIB = 8.1  # disk space in the plan of the study quick, the default of STUDY=
OTHER_GIB = 4  # for other data of the stack, runs and ingestions; each study's plan is checked at its start
TESTS_GIB = 2  # for brokers, stores and databases, in the folder for temporary files
BROWSERS = ("chromium", "google-chrome")  # the same as in the Makefile
FETCHED_BROWSER_RUNS_ON = "x86_64"
# The state folder contains sockets, whose paths are limited to 107 bytes.
MAX_STATE_PATH_BYTES = 70


class Problem(NamedTuple):
    """A missing requirement with its fix and, if there is one, the Debian package."""

    text: str
    package: str = ""


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the state folder: `KAFKA_PARETO_STATE`, `.state` in a checkout, or the user's for an installed command."""
    chosen = environment.get("KAFKA_PARETO_STATE")
    if chosen:
        return Path(chosen).expanduser().resolve()
    if is_checkout():
        return (PROJECT / ".state").resolve()
    users = Path(environment.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    return (users / "kafka-pareto").resolve()


def is_checkout() -> bool:
    """Return whether this is a checkout of the project, not only an installed command."""
    return (PROJECT / "dags").is_dir()


def find_java(environment: Mapping[str, str]) -> Optional[str]:  # noqa: UP045
    """Return the Java to use: `KAFKA_PARETO_JAVA`, or the one of `JAVA_HOME`, or the one on the PATH."""
    home = environment.get("JAVA_HOME")
    return shutil.which(environment.get("KAFKA_PARETO_JAVA") or (str(Path(home) / "bin" / "java") if home else "java"))


def is_supervised(state: Path) -> bool:
    """Return whether the stack's process manager answers."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(state / "supervisor.sock"))
        except OSError:
            return False
    return True


def find_browser() -> Optional[str]:  # noqa: UP045
    """Return a browser on the PATH for tests; never a snap, which may not read their files."""
    found = (shutil.which(name) for name in BROWSERS)
    return next((path for path in found if path and not path.startswith("/snap/")), None)


def setup_problems(tools: Path, environment: Mapping[str, str], data_gib: float = 0) -> list[Problem]:
    """Return the missing requirements of set-up.

    Args:
        tools: Where set-up installs.
        environment: Variables with the Java and the state folder, as passed by make.
        data_gib: Space needed afterwards in the state folder.
    """
    found = [_python_problem(), _java_problem(environment), _setpriv_problem()]
    if not (tools / "venv").exists():
        found.append(_venv_problem())
    if not (tools / "stamps" / "kafka").exists():
        found += [_jdk_problem(environment), _maven_problem()]
    if not _has_minio(tools):
        found.append(_go_problem())
    needed_gib = needed_disk_gib(tools, state_folder(environment), data_gib)
    found += [_disk_problem(folder, gib) for folder, gib in needed_gib.items()]
    return [problem for problem in found if problem]


def needed_disk_gib(tools: Path, state: Path, data_gib: float) -> dict[Path, int]:
    """Return the required free space by an existing folder of each disk: for missing tools, and for data."""
    is_installed = _has_minio(tools) and all((tools / "stamps" / each).exists() for each in ("python", "kafka"))
    needed: dict[int, tuple[Path, float]] = {}
    for wanted, gib in ((tools, 0 if is_installed else INSTALLED_GIB), (state, data_gib)):
        existing = next(path for path in [wanted, *wanted.parents] if path.exists())
        disk = existing.stat().st_dev
        folder, others_gib = needed.get(disk, (existing, 0))
        needed[disk] = (folder, others_gib + gib)
    return {folder: math.ceil(gib) for folder, gib in needed.values()}


def data_gib_of_run(environment: Mapping[str, str]) -> float:
    """Return the space for the data of a run: that of quick if it runs here."""
    sends_here = not environment.get("KAFKA_PARETO_OPTION_KAFKA")
    is_quick = environment.get("KAFKA_PARETO_OPTION_STUDY", "") in ("", "quick")
    return QUICK_GIB if sends_here and is_quick else OTHER_GIB


def problems_for_tests() -> list[Problem]:
    """Return the missing requirements of the tests, in addition to those of set-up."""
    found = [_browser_problem(), _disk_problem(Path(tempfile.gettempdir()), TESTS_GIB)]
    return [problem for problem in found if problem]


def log_pipeline_problems(
    tools: Path, environment: Mapping[str, str], server_folders: str = "/usr/sbin:/sbin"
) -> list[Problem]:
    """Return the missing requirements of a log pipeline's study, in addition to those of set-up."""
    path = f"{os.environ.get('PATH', '')}:{server_folders}"
    is_built = all((tools / "stamps" / each).exists() for each in ("filebeat", "collector"))
    found = [] if is_built else [_go_for_log_pipeline_problem()]
    if not shutil.which("nginx", path=path):
        found.append(Problem("nginx is missing; it writes the log pipeline's log: install it", "nginx-light"))
    home = environment.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    version = java and _java_version(_output([java, "-version"]))
    if version and version > NEWEST_JAVA_OF_SPARK:
        fix = f"set JAVA_HOME to a JDK {NEWEST_JAVA_OF_SPARK}"
        found.append(Problem(f"{java} is Java {version}, which Spark 3.5 does not support: {fix}"))
    if _wants_mariadb(environment) and not shutil.which("mariadbd", path=path):
        fix = "install its server, or set database: sqlite in the study"
        found.append(Problem(f"MariaDB is missing; the study's shop stores its data there: {fix}", "mariadb-server"))
    return [problem for problem in found if problem]


def start_problems(state: Path, environment: Mapping[str, str], with_taken_ports: bool = True) -> list[str]:
    """Return one message for each problem that prevents a start of the stack."""
    # Imported here, so that an old Python prints only the message about its version.
    from kafka_pareto_embedded.bootstrap.ports import read_ports, taken_ports  # noqa: PLC0415

    if len(os.fsencode(state)) > MAX_STATE_PATH_BYTES:
        return [
            f"{state}: the state folder's path is longer than {MAX_STATE_PATH_BYTES} bytes, too long for a "
            "socket: choose a shorter one with KAFKA_PARETO_STATE=…"
        ]
    try:
        ports = read_ports(environment)
    except ValueError as error:
        return [str(error)]
    return taken_ports(ports) if with_taken_ports else []


def _python_problem() -> Optional[Problem]:  # noqa: UP045
    if sys.version_info >= MIN_PYTHON:
        return None
    return Problem(
        f"Python {sys.version.split()[0]} is too old: install Python {MIN_PYTHON[0]}.{MIN_PYTHON[1]} or newer"
    )


def _venv_problem() -> Optional[Problem]:  # noqa: UP045
    try:
        import ensurepip  # noqa: F401, PLC0415 - a separate package in Debian
    except ImportError:
        return Problem("python3 cannot create virtual environments: install its venv", "python3-venv")
    return None


def _java_problem(environment: Mapping[str, str]) -> Optional[Problem]:  # noqa: UP045
    java = find_java(environment)
    if java is None:
        return Problem(f"Java is missing: install a JDK {MIN_JAVA} or newer", JDK_PACKAGE)
    said = _output([java, "-version"])
    version = _java_version(said)
    if version is None:
        return Problem(f"{java} -version cannot be read ({said.strip()[:80]!r}): install a JDK {MIN_JAVA} or newer")
    if version < MIN_JAVA:
        return Problem(f"{java} is Java {version}, too old: install a JDK {MIN_JAVA} or newer, or set JAVA_HOME to one")
    return None


def _java_version(said: str) -> Optional[int]:  # noqa: UP045
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else None


def _jdk_problem(environment: Mapping[str, str]) -> Optional[Problem]:  # noqa: UP045
    java = find_java(environment)
    if java is None or Path(java).resolve().with_name("javac").exists():
        return None
    return Problem(f"{java} has no compiler: install a JDK, not a JRE", JDK_PACKAGE)


def _maven_problem() -> Optional[Problem]:  # noqa: UP045
    return None if shutil.which("mvn") else Problem("Maven is missing: install it", "maven")


def _setpriv_problem() -> Optional[Problem]:  # noqa: UP045
    return None if shutil.which("setpriv") else Problem("setpriv is missing: install util-linux", "util-linux")


def _has_minio(tools: Path) -> bool:
    return shutil.which("minio") is not None or (tools / "bin" / "minio").exists()


def _go_problem() -> Optional[Problem]:  # noqa: UP045
    # Without a package, since Debian 12's Go is too old.
    fix = f"{GO_FIX}, or put a minio binary on the PATH"
    return _go_lacking(Problem(f"MinIO is missing, and so is Go to build it: {fix}"), "MinIO", fix)


def _go_for_log_pipeline_problem() -> Optional[Problem]:  # noqa: UP045
    built = "Filebeat and the Collector"
    return _go_lacking(Problem(f"Go is missing; it builds {built}: {GO_FIX}", "golang-go"), built, GO_FIX)


def _go_lacking(missing: Problem, built: str, fix: str) -> Optional[Problem]:  # noqa: UP045
    if not shutil.which("go"):
        return missing
    version = re.search(r"go(\d+)\.(\d+)", _output(["go", "version"]))
    if version and (int(version.group(1)), int(version.group(2))) < MIN_GO:
        return Problem(f"{version.group(0)} is too old to build {built}: {fix}")
    return None


def _wants_mariadb(environment: Mapping[str, str]) -> bool:
    """Return whether the study passed by make exists and uses MariaDB."""
    folder = Path(environment.get("KAFKA_PARETO_STUDIES") or PROJECT / "include" / "studies")
    study = folder / f"{environment.get('KAFKA_PARETO_OPTION_STUDY', '')}.yaml"
    if not study.is_file():
        return False
    # By its text: no YAML parser is installed before set-up.
    return re.search(r"^database: *['\"]?sqlite", study.read_text(encoding="utf-8"), re.MULTILINE) is None


def _browser_problem() -> Optional[Problem]:  # noqa: UP045
    if find_browser() or platform.machine() == FETCHED_BROWSER_RUNS_ON:
        return None
    names = ", ".join(BROWSERS)
    return Problem(
        f"no browser on the PATH ({names}), and set-up downloads one for {FETCHED_BROWSER_RUNS_ON} only: "
        "install Chromium",
        "chromium",
    )


def _disk_problem(folder: Path, needed_gib: int) -> Optional[Problem]:  # noqa: UP045
    free_gib = shutil.disk_usage(str(folder)).free / 2**30
    if free_gib >= needed_gib:
        return None
    return Problem(f"only {free_gib:.1f} GiB free under {folder}, {needed_gib} GiB needed: free some space")


def _output(argv: list[str]) -> str:
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout.decode("utf-8", "replace")


def main() -> int:
    """Print one line per problem, and the packages to install; return 1 if there is a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", action="store_true", help="also check that the stack's ports are free")
    parser.add_argument("--run", action="store_true", help="also check the disk space for the study's data")
    parser.add_argument("--ingest", action="store_true", help="also check the disk space for an ingestion's data")
    parser.add_argument("--tests", action="store_true", help="also check the requirements of the tests")
    parser.add_argument(
        "--log-pipeline", action="store_true", help="also check the requirements of a log pipeline's study"
    )
    asked = parser.parse_args()
    data_gib = data_gib_of_run(os.environ) if asked.run else OTHER_GIB if asked.start or asked.ingest else 0
    problems = setup_problems(PROJECT / ".state", os.environ, data_gib)
    if asked.log_pipeline:
        problems += log_pipeline_problems(PROJECT / ".state", os.environ)
    if asked.tests:
        problems += problems_for_tests()
    state = state_folder(os.environ)
    if asked.start and not _python_problem() and not is_supervised(state):
        # A killed process manager may have left processes on the ports: `up` ends them first, then checks again.
        has_been_up = (state / "ports.json").exists()
        problems += [Problem(text) for text in start_problems(state, os.environ, with_taken_ports=not has_been_up)]
    for problem in problems:
        print("error: " + problem.text, file=sys.stderr)
    packages = sorted({problem.package for problem in problems if problem.package})
    if packages:
        print("On Debian or Ubuntu: apt-get install " + " ".join(packages), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
