"""Runs the shop behind nginx for tests: its database, gunicorn, and an nginx for each form of log lines."""

from __future__ import annotations

import getpass
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.processes import last_lines, tied
from kafka_pareto.drivers.log_pipeline.web_parts import MariaDb, Nginx, Shop, find_program
from tests.processes import end_process
from tests.required import needs

TOOLS = Path(__file__).parents[2] / ".state/log-pipeline"
PYTHON = TOOLS / "venv/bin/python"
NGINX = find_program("nginx")
MARIADB, INSTALLER = find_program("mariadbd"), find_program("mariadb-install-db")

SHOP_TESTS = [
    pytest.mark.studies,
    needs(PYTHON.exists(), "the shop's environment is not there; `make log-pipeline` makes it"),
    needs(NGINX, "nginx is not installed"),
]
"""Marks the tests of the shop: how long they take, and what must be installed."""

READY_S = 30


def started(argv: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Starts a server, which gets TERM when we are killed: nginx, if it was killed, would leave its workers behind."""
    with log.open("ab") as out:
        return subprocess.Popen(
            tied(argv, "TERM"), cwd=log.parent, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@dataclass
class Web:
    """A shop that runs, behind an nginx for each form of log lines."""

    folder: Path
    shop: Shop
    mariadb: MariaDb | None
    nginx: dict[str, Nginx]
    process: dict[str, subprocess.Popen[bytes]]

    @property
    def url(self) -> str:
        return self.nginx["multi"].url

    def start(self, name: str, argv: list[str], is_ready: Callable[[], bool]) -> None:
        log = self.folder / f"{name}.out"
        process = self.process[name] = started(argv, self.shop.environment, log)
        deadline = time.monotonic() + READY_S
        while not is_ready():
            assert process.poll() is None, f"{name} has ended: {last_lines(log)}"
            assert time.monotonic() < deadline, f"{name} is not ready: {last_lines(log)}"
            time.sleep(0.02)

    def start_mariadb(self) -> None:
        assert self.mariadb is not None
        socket_of_it = self.mariadb.socket
        self.start("mariadb", self.mariadb.argv, lambda: accepts(socket_of_it))

    def start_nginx(self, form: str) -> None:
        nginx = self.nginx[form]
        nginx.folder.mkdir()
        nginx.configuration_file.write_text(nginx.configuration)
        self.start(form, nginx.argv, lambda: is_listening(nginx.port))


@contextmanager
def running_web(folder: Path, database: str) -> Iterator[Web]:
    mariadb = MariaDb(folder, getpass.getuser(), str(MARIADB), str(INSTALLER)) if database == "mariadb" else None
    shop = Shop(folder, PYTHON, mariadb.address if mariadb else f"sqlite:{folder}/shop.db")
    nginx = {
        form: Nginx(
            folder=folder / form,
            port=port,
            log_file=folder / f"{form}.log",
            shop_socket=shop.socket,
            user=getpass.getuser(),
            log_lines=form,  # type: ignore[arg-type]
            workers=workers,
            program=str(NGINX),
        )
        for form, port, workers in zip(("multi", "single"), free_ports(2), (1, 2), strict=True)
    }
    web = Web(folder, shop, mariadb, nginx, {})
    try:
        if mariadb:
            subprocess.run(mariadb.install_argv, capture_output=True, timeout=READY_S, check=True)
            web.start_mariadb()
        subprocess.run(shop.create_argv(1), env=shop.environment, timeout=READY_S, check=True)
        web.start("shop", shop.argv, lambda: accepts(shop.socket))
        for form in nginx:
            web.start_nginx(form)
        yield web
    finally:
        for process in reversed(web.process.values()):
            end_process(process, 10)


def answered(answer: httpx.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None
