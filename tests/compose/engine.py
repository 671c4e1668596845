"""A private Docker engine with a base image that comes from no registry; it leaves the machine as it was.

It has its own socket and data root, and Compose and BuildKit from Debian's packages. Usable by hand as well:
`python -m tests.compose.engine FOLDER` keeps one up until it is interrupted.
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

BASE_IMAGE = "kafka-pareto/base:test"
_PLUGINS = ("docker-compose", "docker-buildx")
# Debian 12 has neither; those of the next release run on it.
_PLUGIN_RELEASE = "trixie"
_PROGRAMS = ("dockerd", "iptables-save", "iptables-restore", "debootstrap", "ip", "apt-get", "dpkg-deb")
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
        """What a Docker client needs to find this engine and its plugins."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "DOCKER_HOST": f"unix://{self.socket}",
            "DOCKER_CONFIG": str(self.folder / "config"),
            "DOCKER_BUILDKIT": "1",
        }

    def docker(
        self, *arguments: str, timeout_s: float = 120, environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs the client to its end and returns what it said.

        Raises:
            AssertionError: With the client's last words, if it fails.
        """
        done = subprocess.run(
            ["docker", *arguments],
            env={**self.environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            **options,
        )
        assert done.returncode == 0, f"docker {' '.join(arguments)}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
        return done

    def inspect(self, container: str) -> dict[str, Any]:
        """What the engine knows of a container."""
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", "--type", "container", container).stdout)
        return found[0]


def why_not() -> str:
    """Why no engine can run on this machine; empty if one can."""
    if os.geteuid() != 0:
        return "a private engine needs root"
    missing = [program for program in _PROGRAMS if shutil.which(program, path=_path()) is None]
    if missing:
        return f"missing: {', '.join(missing)} (apt-get install docker.io iptables debootstrap iproute2)"
    if "docker0" in _bridges():
        return "another engine is at work here, whose bridge and rules must be left alone"
    return ""


def is_required() -> bool:
    """Whether a machine that cannot run an engine is a failure: in CI."""
    return bool(os.environ.get("CI") or os.environ.get("KAFKA_PARETO_REQUIRE_ENGINE"))


@contextmanager
def private_engine(folder: Path) -> Iterator[Engine]:
    """Starts an engine below the folder, with `BASE_IMAGE` in it; afterwards nothing of it is left on the machine."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as undo:
        undo.enter_context(_ending_on_termination())
        undo.enter_context(_network_as_before())
        fetched = subprocess.Popen([sys.executable, "-m", "tests.compose.base_image", str(folder)])
        undo.callback(_end, fetched)
        engine = Engine(folder)
        undo.enter_context(_daemon(engine))
        _fetch_plugins(folder)
        assert fetched.wait(300) == 0, "the base image could not be made; see above"
        _import_base(engine)
        yield engine


@contextmanager
def _ending_on_termination() -> Iterator[None]:
    """TERM unwinds like an interruption, so that nothing is left behind then either."""

    def end(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _network_as_before() -> Iterator[None]:
    """Takes back what an engine changes of the machine's network: rules, bridges, forwarding."""
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    rules, bridges, forwarded = _rules(), _bridges(), forwarding.read_text()
    try:
        yield
    finally:
        for bridge in _bridges() - bridges:
            _run("ip", "link", "delete", bridge)
        after = _rules()
        restored = [rules.get(table) or _emptied(lines) for table, lines in after.items()]
        _run("iptables-restore", text="\n".join(line for lines in restored for line in lines) + "\n")
        forwarding.write_text(forwarded)


def _rules() -> dict[str, list[str]]:
    """The rules of each table in use, as iptables-save prints them."""
    tables: dict[str, list[str]] = {}
    for line in _run("iptables-save").splitlines():
        if line.startswith("*"):
            table = tables.setdefault(line, [])
        if not line.startswith("#"):
            table.append(re.sub(r"\[\d+:\d+\]", "[0:0]", line))
    return tables


def _emptied(lines: list[str]) -> list[str]:
    """A table with its built-in chains alone, all open, as the kernel makes it."""
    built_in = [re.sub(r"^(:\S+) \S+", r"\1 ACCEPT", line) for line in lines if re.match(r":\S+ (?!-)", line)]
    return [lines[0], *built_in, "COMMIT"]


def _bridges() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir() if (path / "bridge").exists()}


@contextmanager
def _daemon(engine: Engine) -> Iterator[None]:
    folder = engine.folder
    # Tied to this process: a test run that is killed leaves rules and bridges, but no engine at work.
    command = [
        "setpriv",
        "--pdeathsig",
        "TERM",
        "--",
        "dockerd",
        "--data-root",
        str(folder / "data"),
        "--exec-root",
        str(folder / "exec"),
    ]
    command += ["--pidfile", str(folder / "dockerd.pid"), "--host", f"unix://{engine.socket}", "--mtu", "1400"]
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            command, env={**os.environ, "PATH": _path()}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait_until_ready(engine, daemon)
        yield
    finally:
        _end(daemon)
        _unmount_below(folder)
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
        _run("dpkg-deb", "-x", str(package), str(state / "unpacked"))
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


def _unmount_below(folder: Path) -> None:
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for point in sorted((each for each in mounted if each.startswith(f"{folder}/")), reverse=True):
        _run("umount", "--lazy", point)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run(*command: str, text: str | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command,
        input=text,
        cwd=cwd,
        env={**os.environ, "PATH": _path(), "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-1000:]}{done.stderr[-1000:]}"
    return done.stdout


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def main() -> None:
    """Keeps an engine up until this process is interrupted or told to end."""
    with private_engine(Path(sys.argv[1]).resolve()) as engine:
        print(f"ready: DOCKER_HOST=unix://{engine.socket} DOCKER_CONFIG={engine.folder / 'config'}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopping", flush=True)


if __name__ == "__main__":
    main()
