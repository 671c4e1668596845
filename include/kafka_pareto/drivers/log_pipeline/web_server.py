"""Run nginx, which writes the log, with the shop and its database behind it."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal

from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.processes import Opened
from kafka_pareto.drivers.common.child_process import ChildProcess, end_all, run_to_end
from kafka_pareto.drivers.log_pipeline.web_parts import MariaDb, Nginx, Shop, search_path
from kafka_pareto.errors import LoadStartError, LoadToolError

Database = Literal["mariadb", "sqlite"]
_READY_S = 30.0
_CREATED_S = 120.0
_STOP_S = 10.0
_LOOK_S = 0.05


class WebServer(Opened):
    """Context in which a shop runs on its own database; nginx is started in front of it for each run.

    The path of `folder` must be short, since it holds sockets. `seed` determines the shop's initial contents.

    Raises:
        LoadStartError: On entering, if a part does not start.
    """

    def __init__(self, folder: Path, python: Path, database: Database, seed: int) -> None:
        self._folder = folder
        self._user = getpass.getuser()
        self._mariadb = MariaDb(folder / "db", self._user) if database == "mariadb" else None
        address = self._mariadb.address if self._mariadb else f"sqlite:{folder / 'shop.sqlite'}"
        self._shop = Shop(folder, python, address)
        self._seed = seed
        self._children: dict[str, ChildProcess] = {}

    def _open(self, opened: ExitStack) -> None:
        opened.callback(lambda: end_all(reversed(self._children.values()), _STOP_S))
        if self._mariadb:
            self._start_database(self._mariadb)
        _run("the shop's database", self._shop.create_argv(self._seed), self._shop.environment)
        self._children["shop"] = ChildProcess("the shop", self._shop.argv, self._shop.environment, end_by="TERM")
        self._wait("shop", lambda: _listens_at(self._shop.socket))

    @property
    def pids(self) -> dict[str, int]:
        """Map `nginx`, `shop` and `database`, if running, to their process ids."""
        return {name: each.pid for name, each in self._children.items() if each.exit_code is None}

    def require_running(self) -> None:
        """Check shop and database.

        Raises:
            LoadToolError: If one has ended, with its last output.
        """
        for child in self._children.values():
            child.require_running()

    def start_nginx(self, log_file: Path, log_lines: str) -> str:
        """Start nginx with a new access log, replacing a running one; return its URL.

        Raises:
            LoadStartError: If it does not start.
        """
        self.stop_nginx()
        folder = self._folder / "nginx"
        folder.mkdir(exist_ok=True)
        (port,) = free_ports(1)
        nginx = Nginx(folder, port, log_file, self._shop.socket, self._user, log_lines)
        nginx.configuration_file.write_text(nginx.configuration, encoding="utf-8")
        self._children["nginx"] = ChildProcess("nginx", nginx.argv, {"PATH": search_path()}, end_by="TERM")
        self._wait("nginx", lambda: is_listening(port))
        return nginx.url

    def stop_nginx(self) -> None:
        """Stop nginx if it runs."""
        if nginx := self._children.pop("nginx", None):
            end_all([nginx], _STOP_S)

    def _start_database(self, mariadb: MariaDb) -> None:
        mariadb.folder.mkdir()
        environment = {"PATH": search_path(), "LC_ALL": "C.UTF-8"}
        _run("MariaDB's data folder", mariadb.install_argv, environment)
        self._children["database"] = ChildProcess("MariaDB", mariadb.argv, environment)
        self._wait("database", lambda: _listens_at(mariadb.socket))

    def _wait(self, name: str, is_ready: Callable[[], bool]) -> None:
        child, deadline = self._children[name], time.monotonic() + _READY_S
        while not is_ready():
            if child.exit_code is not None or time.monotonic() > deadline:
                raise LoadStartError(f"{child.name} does not start: {child.last_words()}")
            time.sleep(_LOOK_S)


def _run(what: str, argv: list[str], environment: dict[str, str]) -> None:
    try:
        run_to_end(f"what makes {what}", argv, environment, _CREATED_S)
    except LoadToolError as error:
        raise LoadStartError(str(error)) from error


def _listens_at(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.connect(str(path))
        return True
    return False
