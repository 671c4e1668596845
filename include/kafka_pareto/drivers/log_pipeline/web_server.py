"""Run nginx, which writes the log, with the shop and its database behind it."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from kafka_pareto.brokers.ports import free_ports, is_listening
from kafka_pareto.brokers.processes import Opened
from kafka_pareto.drivers.common.child_process import ChildProcess, end_all, run_to_end
from kafka_pareto.drivers.log_pipeline.web_parts import MariaDb, Nginx, Shop, environment
from kafka_pareto.errors import LoadStartError

Database = Literal["mariadb", "sqlite"]
_READY_S = 30.0
_CREATED_S = 120.0
_STOP_S = 10.0
_LOOK_S = 0.05


class WebServer(Opened):
    """Context in which a shop runs on its own database; nginx is started in front of it for each run.

    The path of `folder` must be short, since it holds sockets. `seed` determines the shop's initial contents.
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
        shop = self._shop
        run_to_end("the shop's database setup", shop.create_argv(self._seed), shop.environment, _CREATED_S)
        self._add(
            "shop", ChildProcess("the shop", shop.argv, shop.environment, "TERM"), lambda: _listens_at(shop.socket)
        )

    @property
    def pids(self) -> dict[str, int]:
        """Map `nginx`, `shop` and `database`, if running, to their process ids."""
        return {name: each.pid for name, each in self._children.items() if each.exit_code is None}

    def require_running(self) -> None:
        """Check shop and database; raise LoadToolError if one has ended."""
        for child in self._children.values():
            child.require_running()

    def start_nginx(self, log_file: Path, log_lines: str) -> str:
        """Start nginx with a new access log, replacing a running one; return its URL."""
        self.stop_nginx()
        folder = self._folder / "nginx"
        folder.mkdir(exist_ok=True)
        (port,) = free_ports(1)
        nginx = Nginx(folder, port, log_file, self._shop.socket, self._user, log_lines)
        nginx.configuration_file.write_text(nginx.configuration, encoding="utf-8")
        child = ChildProcess("nginx", nginx.argv, environment(), end_by="TERM")
        self._add("nginx", child, lambda: is_listening(port))
        return nginx.url

    def stop_nginx(self) -> None:
        """Stop nginx if it runs."""
        if nginx := self._children.pop("nginx", None):
            end_all([nginx], _STOP_S)

    def _start_database(self, mariadb: MariaDb) -> None:
        mariadb.folder.mkdir()
        run_to_end("MariaDB's installation", mariadb.install_argv, environment(), _CREATED_S)
        child = ChildProcess("MariaDB", mariadb.argv, environment())
        self._add("database", child, lambda: _listens_at(mariadb.socket))

    def _add(self, name: str, child: ChildProcess, is_ready: Callable[[], bool]) -> None:
        self._children[name] = child
        deadline = time.monotonic() + _READY_S
        while not is_ready():
            if child.exit_code is not None or time.monotonic() > deadline:
                raise LoadStartError(f"{child.name} did not start: {child.last_words()}")
            time.sleep(_LOOK_S)


def _listens_at(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0
