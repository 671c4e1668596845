"""The proxy before a container engine's socket, as a real HAProxy with the project's own configuration."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from kafka_pareto.brokers.ports import free_ports
from tests.required import is_required

LOGINS = "kafka-pareto-stand-in-logins"
"""The volume of the clusters' logins."""

CONFIGURATION = Path(__file__).parent.parent.parent / "include" / "containers" / "engine" / "haproxy.cfg"


@dataclass(frozen=True)
class Proxy:
    """Where the proxy listens, and the file that it logs to."""

    port: int
    log: Path


@contextmanager
def running_proxy(
    engine_socket: Path, folder: Path, image: str, network: str, changes: Mapping[str, str] | None = None
) -> Iterator[Proxy]:
    """The proxy before this socket, for steps of this image and network; only address and socket are changed.

    Further changes of its configuration, from one text to another, are for a test to name.
    """
    binary = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None and not is_required():
        pytest.skip("there is no haproxy; install Debian's package")
    assert binary, "there is no haproxy, which CI needs: install Debian's package"
    proxy = Proxy(free_ports(1)[0], folder / "haproxy.log")
    text = CONFIGURATION.read_text(encoding="utf-8")
    for changed, to in {
        "bind :2375": f"bind 127.0.0.1:{proxy.port}",
        "unix@/var/run/docker.sock": f"unix@{engine_socket}",
        **(changes or {}),
    }.items():
        assert text.count(changed) == 1
        text = text.replace(changed, to)
    file = folder / "haproxy.cfg"
    file.write_text(text, encoding="utf-8")
    environment = {
        "KAFKA_PARETO_STEP_IMAGE": image,
        "KAFKA_PARETO_STEP_NETWORK": network,
        "KAFKA_PARETO_STEP_CLIENT_CONFIGS": LOGINS,
    }
    with proxy.log.open("wb") as log:
        argv = ["setpriv", "--pdeathsig", "KILL", "--", binary, "-db", "-f", str(file)]
        process = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
    try:
        _wait_until_it_listens(process, proxy)
        yield proxy
    finally:
        process.kill()
        process.wait()


@retry(retry=retry_if_exception_type(OSError), stop=stop_after_delay(20), wait=wait_fixed(0.05), reraise=True)
def _wait_until_it_listens(process: subprocess.Popen[bytes], proxy: Proxy) -> None:
    assert process.poll() is None, proxy.log.read_text(encoding="utf-8")
    socket.create_connection(("127.0.0.1", proxy.port), timeout=1).close()
