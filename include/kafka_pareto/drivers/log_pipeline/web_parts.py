"""Command lines and configuration of MariaDB, gunicorn and nginx; `web_server.py` starts them.

Each has a folder and listens on a unix socket in it, except nginx, which listens on 127.0.0.1.
"""

from __future__ import annotations

import os
import shutil
import string
from dataclasses import dataclass
from pathlib import Path

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.errors import BadInputError

PROGRAMS = Path(__file__).parent / "parts"
"""Folder of the programs outside the library: `shop`, `warehouse`, …"""

_ROOT = "root"
_MOST_SOCKET_BYTES = 107
_REFUSED_IN_PATHS = frozenset("\"'\\$;{}\n")


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a part; its PATH includes the folders of servers, often missing from a user's."""
    kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME") if name in os.environ}
    return {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", **kept, **more}


def find_program(name: str) -> str | None:
    """Return the path of a program, if it is installed."""
    return shutil.which(name, path=environment()["PATH"])


@dataclass(frozen=True)
class MariaDb:
    """A MariaDB with data and unix socket in a folder; only `user`, which runs it, can log in, without a password."""

    folder: Path
    user: str
    server: str = "mariadbd"
    installer: str = "mariadb-install-db"

    @property
    def socket(self) -> Path:
        """Return its unix socket."""
        return _socket(self.folder / "mariadb.sock")

    @property
    def address(self) -> str:
        """Return its address for the shop."""
        return f"mariadb:{self.socket}"

    @property
    def install_argv(self) -> list[str]:
        """Return the command that creates its data folder; the socket authenticates the user, without a password."""
        login = ["--auth-root-authentication-method=socket", f"--auth-root-socket-user={self.user}"]
        return [self.installer, *self._options(), *login, "--skip-test-db", *self._as_root()]

    @property
    def argv(self) -> list[str]:
        """Return the command that runs it until SIGTERM."""
        files = [f"--socket={self.socket}", f"--pid-file={self.folder / 'mariadb.pid'}", f"--tmpdir={self.folder}"]
        return [self.server, *self._options(), *files, "--skip-networking", "--skip-log-bin", *self._as_root()]

    def _options(self) -> list[str]:
        return ["--no-defaults", f"--datadir={self.folder / 'data'}"]

    def _as_root(self) -> list[str]:
        return [f"--user={_ROOT}"] if self.user == _ROOT else []


@dataclass(frozen=True)
class Shop:
    """The shop, run by gunicorn; `database` is `sqlite:<file>` or `MariaDb.address`.

    Each of the `threads` of each of the `workers` (processes) has a connection to the database.
    """

    folder: Path
    python: Path
    database: str
    workers: int = 2
    threads: int = 4

    @property
    def socket(self) -> Path:
        """Return its unix socket."""
        return _socket(self.folder / "shop.sock")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of its commands."""
        return environment(PYTHONPATH=str(PROGRAMS), SHOP_DATABASE=self.database)

    def create_argv(self, seed: int) -> list[str]:
        """Return the command that creates the database's schema and initial contents."""
        return [str(self.python), "-m", "shop.database", "create", "--database", self.database, "--seed", str(seed)]

    @property
    def argv(self) -> list[str]:
        """Return the command that runs it until SIGTERM."""
        # Threads, since gunicorn's sync workers close the connection after each request.
        return [
            *(str(self.python), "-m", "gunicorn", "--bind", f"unix:{self.socket}", "--umask", "0o077"),
            *("--workers", str(self.workers), "--worker-class", "gthread", "--threads", str(self.threads)),
            *("--keep-alive", "75", "--worker-tmp-dir", str(self.folder)),
            *("--no-control-socket", "--log-level", "warning", "shop.app:create_app()"),
        ]


class _Template(string.Template):
    """A template with @{names}, since nginx's own variables use dollar signs."""

    delimiter = "@"


@dataclass(frozen=True)
class Nginx:
    """An nginx in front of the shop, on a loopback port.

    Attributes:
        user: Name of the user that runs it.
        log_lines: Format of its access log: entries on several lines (`multi`) or on one (`single`).
        workers: Processes.
    """

    folder: Path
    port: int
    log_file: Path
    shop_socket: Path
    user: str
    log_lines: str = "multi"
    workers: int = 1
    program: str = "nginx"

    @property
    def configuration_file(self) -> Path:
        """Return the path at which nginx expects its configuration."""
        return self.folder / "nginx.conf"

    @property
    def url(self) -> str:
        """Return its URL."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def configuration(self) -> str:
        """Return its configuration; raise BadInputError if a path has a character that is special in it."""
        template = (PROGRAMS / "nginx.conf").read_text(encoding="utf-8")
        return _Template(template).substitute(
            # By default, workers started by root run as www-data, which has no access to our folders.
            user=f"user {_ROOT};" if self.user == _ROOT else "",
            workers=self.workers,
            folder=_plain(self.folder),
            log_file=_plain(self.log_file),
            log_lines=self.log_lines,
            shop_socket=_plain(self.shop_socket),
            port=self.port,
        )

    @property
    def argv(self) -> list[str]:
        """Return the command that runs it until SIGTERM, or SIGQUIT to let requests finish.

        SIGKILL would orphan its workers, so a supervisor must send SIGTERM.
        """
        # -e: otherwise it opens the system nginx's log before it reads its configuration.
        return [self.program, "-e", "stderr", "-p", str(self.folder), "-c", str(self.configuration_file)]


def _socket(path: Path) -> Path:
    if len(os.fsencode(path)) > _MOST_SOCKET_BYTES:
        raise BadInputError(
            f"{path}: a socket path must not exceed {_MOST_SOCKET_BYTES} bytes; set TMPDIR to a shorter path"
        )
    return path


def _plain(path: Path) -> str:
    text = str(path.absolute())
    if refused := sorted(_REFUSED_IN_PATHS & set(text)):
        raise BadInputError(f"{path}: nginx does not support {refused[0]!r} in paths; use another folder")
    return text
