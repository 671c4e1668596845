"""A private Docker engine with a base image that comes from no registry.

It has its own socket and data root, and Compose and BuildKit from Debian's packages. Usable by hand as well:
`python -m tests.compose.namespaces python -m tests.compose.engine FOLDER` keeps one up until it is interrupted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.compose import namespaces
from tests.processes import end_process

BASE_IMAGE = "kafka-pareto/base:test"
_PLUGINS = ("docker-compose", "docker-buildx")
# Debian 12 has neither; those of the next release run on it.
_PLUGIN_RELEASE = "trixie"
_PROGRAMS = ("dockerd", "iptables", "debootstrap", "apt-get", "dpkg-deb")
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_START_TIMEOUT_S = 60
_STOP_TIMEOUT_S = 60


@dataclass(frozen=True)
class Engine:
    """A running engine."""

    folder: Path

    @property
    def socket(self) -> Path:
        return self.folder / "docker.sock"

    def environment(self) -> dict[str, str]:
        """The environment with which a Docker client finds this engine and its plugins."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "DOCKER_HOST": f"unix://{self.socket}",
            "DOCKER_CONFIG": str(self.folder / "config"),
            "DOCKER_BUILDKIT": "1",
        }

    def docker(
        self,
        *arguments: str,
        timeout_s: float = 120,
        environment: Mapping[str, str] | None = None,
        standard_input: str = "",
        **options: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Runs the client to its end, with this on its standard input, and returns what it said.

        Raises:
            AssertionError: With the client's last words, if it fails.
        """
        done = subprocess.run(
            ["docker", *arguments],
            env={**self.environment(), **(environment or {})},
            input=standard_input,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            **options,
        )
        assert done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
        return done

    def inspect(self, container: str) -> dict[str, Any]:
        """The engine's description of a container."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", "--type", "container", container).stdout)
        return found[0]


def why_not() -> str:
    """Why no engine can run on this machine; empty if one can."""
    reason = namespaces.why_not()
    if reason:
        return reason
    missing = [program for program in _PROGRAMS if shutil.which(program, path=program_path()) is None]
    if missing:
        return f"missing: {', '.join(missing)} (apt-get install docker.io iptables debootstrap)"
    if not namespaces.is_inside():
        return "an engine would change this machine's network: make test-compose gives it one of its own"
    return ""


@contextmanager
def private_engine(folder: Path) -> Iterator[Engine]:
    """Starts an engine below the folder, with `BASE_IMAGE` in it; afterwards its data are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undo:
        fetched = subprocess.Popen([sys.executable, "-m", "tests.compose.base_image", str(folder)])
        undo.callback(end_process, fetched, _STOP_TIMEOUT_S)
        engine = Engine(folder)
        undo.enter_context(_daemon(engine))
        _fetch_plugins(folder)
        assert fetched.wait(300) == 0, "the base image could not be made; see above"
        _import_base(engine)
        yield engine


@contextmanager
def _daemon(engine: Engine) -> Iterator[None]:
    folder = engine.folder
    command = ["dockerd", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")]
    command += ["--pidfile", str(folder / "dockerd.pid"), "--host", f"unix://{engine.socket}", "--mtu", "1400"]
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            command, env={**os.environ, "PATH": program_path()}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait_until_ready(engine, daemon)
        yield
    finally:
        end_process(daemon, _STOP_TIMEOUT_S)
        shutil.rmtree(folder / "data", ignore_errors=True)
        shutil.rmtree(folder / "exec", ignore_errors=True)


def _wait_until_ready(engine: Engine, daemon: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        said = (engine.folder / "dockerd.log").read_text(errors="replace")[-2000:]
        assert daemon.poll() is None, f"dockerd ended at its start:\n{said}"
        assert time.monotonic() < deadline, f"dockerd did not answer within {_START_TIMEOUT_S} s:\n{said}"
        try:
            engine.docker("version")
        except AssertionError:
            time.sleep(0.2)
        else:
            return


def _fetch_plugins(folder: Path) -> None:
    """Compose and BuildKit's client, from packages of a newer Debian, by an apt state of their own."""
    plugins = folder / "config" / "cli-plugins"
    if all((plugins / name).exists() for name in _PLUGINS):
        return
    plugins.mkdir(parents=True, exist_ok=True)
    state = folder / "apt"
    for below in ("lists/partial", "cache/archives/partial"):
        (state / below).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (state / "sources.list").write_text(f"deb [signed-by={keys}] {debian_mirror()} {_PLUGIN_RELEASE} main\n")
    (state / "status").touch()
    settings = {
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    options = [f"-o{name}={value}" for name, value in settings.items()]
    _run("apt-get", *options, "-q", "update", cwd=state)
    _run("apt-get", *options, "-q", "download", *_PLUGINS, cwd=state)
    for package in state.glob("docker-*.deb"):
        _run("dpkg-deb", "-x", str(package), str(state / "unpacked"), cwd=state)
    for name in _PLUGINS:
        shutil.copy(next((state / "unpacked").rglob(f"cli-plugins/{name}")), plugins / name)


def _import_base(engine: Engine) -> None:
    """The certificates' place is said in this image only: a machine's own authority is nobody else's business."""
    variables = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    changes = [option for name in variables for option in ("--change", f"ENV {name}={_CERTIFICATES}")]
    engine.docker("import", *changes, "--change", 'CMD ["sh"]', str(engine.folder / "base.tar"), BASE_IMAGE)


def debian_mirror() -> str:
    """The mirror that this machine's apt uses."""
    sources = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    text = "\n".join(path.read_text() for path in sources if path.is_file())
    found = re.search(r"^(?:URIs:|deb (?:\[.*\] )?)\s*(\S+/debian)/?\s", text, re.MULTILINE)
    assert found, "apt's sources name no mirror of Debian's, from which Compose and the base image are fetched"
    return found[1]


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": program_path(), "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-1000:]}{done.stderr[-1000:]}"


def program_path() -> str:
    """The folders of programs, including those of servers."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def main() -> None:
    """Keeps an engine up until this process is interrupted."""
    with private_engine(Path(sys.argv[1]).resolve()) as engine:
        print(f"ready: DOCKER_HOST=unix://{engine.socket} DOCKER_CONFIG={engine.folder / 'config'}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopping", flush=True)


if __name__ == "__main__":
    main()
