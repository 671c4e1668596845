"""Says how the shop is run: command lines and configuration of MariaDB, gunicorn and nginx.

Nothing is started here. Each has a folder of its own, and listens on a unix socket in it; nginx, on 127.0.0.1.
"""

from __future__ import annotations

import os
import shutil
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kafka_pareto.brokers.nodes import LOOPBACK
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.factors import FactorValue

LogLines = Literal["multi", "single"]
PROGRAMS = Path(__file__).parent / "parts"
"""Is the folder of what does not belong to the library: `shop`, `warehouse`, …"""

_ROOT = "root"
_MOST_SOCKET_BYTES = 107
_REFUSED_IN_PATHS = frozenset("\"'\\$;{}\n")


def log_lines_of(settings: Mapping[str, FactorValue]) -> LogLines:
    """Picks how entries of the log lie in it out of the settings of a pipeline."""
    return "single" if settings["log_lines"] == "single" else "multi"


def find_program(name: str) -> str | None:
    """Returns where a program is; servers are not on every user's PATH. None where there is none."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@dataclass(frozen=True)
class MariaDb:
    """Is a MariaDB whose data and unix socket are in a folder; only who runs it gets in, without a password.

    Args:
        folder: Its folder.
        user: The name of the user that runs it, which is us.
        server: The command `mariadbd`.
        installer: The command `mariadb-install-db`.
    """

    folder: Path
    user: str
    server: str = "mariadbd"
    installer: str = "mariadb-install-db"

    @property
    def socket(self) -> Path:
        """Returns its socket."""
        return _socket(self.folder / "mariadb.sock")

    @property
    def address(self) -> str:
        """Returns what the shop is told of it."""
        return f"mariadb:{self.socket}"

    @property
    def install_argv(self) -> list[str]:
        """Returns the command that makes its data folder; the socket says who we are, so there is no password."""
        return [
            self.installer,
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            "--auth-root-authentication-method=socket",
            f"--auth-root-socket-user={self.user}",
            "--skip-test-db",
            *self._as_root(),
        ]

    @property
    def argv(self) -> list[str]:
        """Returns the command that runs it, until SIGTERM."""
        return [
            self.server,
            "--no-defaults",
            f"--datadir={self.folder / 'data'}",
            f"--socket={self.socket}",
            f"--pid-file={self.folder / 'mariadb.pid'}",
            f"--tmpdir={self.folder}",
            "--skip-networking",
            "--skip-log-bin",
            *self._as_root(),
        ]

    def _as_root(self) -> list[str]:
        """Returns what lets root run it as root, which it does only where it is told to."""
        return [f"--user={_ROOT}"] if self.user == _ROOT else []


@dataclass(frozen=True)
class Shop:
    """Is the shop, run by gunicorn.

    Args:
        folder: Holds its unix socket.
        python: Of the environment that has Flask.
        database: `sqlite:<file>`, or `MariaDb.address`.
        workers: Processes.
        threads: Of each process, each with a connection to the database.
    """

    folder: Path
    python: Path
    database: str
    workers: int = 2
    threads: int = 4

    @property
    def socket(self) -> Path:
        """Returns where nginx finds it."""
        return _socket(self.folder / "shop.sock")

    @property
    def environment(self) -> dict[str, str]:
        """Returns the environment of its commands."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(PROGRAMS),
            "LC_ALL": "C.UTF-8",
            "SHOP_DATABASE": self.database,
        }

    def create_argv(self, seed: int) -> list[str]:
        """Returns the command that makes the database's schema and first contents."""
        return [str(self.python), "-m", "shop.database", "create", "--database", self.database, "--seed", str(seed)]

    @property
    def argv(self) -> list[str]:
        """Returns the command that runs it, until SIGTERM."""
        # Threads, since gunicorn's plain workers close each connection after a request.
        of_workers = ["--workers", str(self.workers), "--worker-class", "gthread", "--threads", str(self.threads)]
        return [
            *(str(self.python), "-m", "gunicorn", "--bind", f"unix:{self.socket}", "--umask", "0o077"),
            *of_workers,
            *("--keep-alive", "75", "--worker-tmp-dir", str(self.folder)),
            *("--no-control-socket", "--log-level", "warning", "shop.app:create_app()"),
        ]


class _Template(string.Template):
    """Is a template with @{names}: nginx has variables with dollar signs of its own."""

    delimiter = "@"


@dataclass(frozen=True)
class Nginx:
    """Is an nginx in front of the shop.

    Args:
        folder: Its folder.
        port: At which it listens on loopback.
        log_file: Its access log.
        shop_socket: Where the shop listens.
        user: The name of the user that runs it, which is us.
        log_lines: `multi` for a log of objects of several lines, `single` for one of a line each.
        workers: Processes.
        program: The command `nginx`.
    """

    folder: Path
    port: int
    log_file: Path
    shop_socket: Path
    user: str
    log_lines: LogLines = "multi"
    workers: int = 1
    program: str = "nginx"

    @property
    def configuration_file(self) -> Path:
        """Returns where its configuration is to be written."""
        return self.folder / "nginx.conf"

    @property
    def url(self) -> str:
        """Returns where it is reached."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def configuration(self) -> str:
        """Returns the text of its configuration.

        Raises:
            BadInputError: If a path has a character that means something in there.
        """
        template = (PROGRAMS / "nginx.conf").read_text(encoding="utf-8")
        return _Template(template).substitute(
            # As root its workers would else be www-data, who must not enter our folders. A user has no choice.
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
        """Returns the command that runs it, until SIGTERM, or SIGQUIT to let requests end.

        Killed by -9 it leaves its workers behind: what ties it to a process must send it SIGTERM.
        """
        # -e: before it has read its configuration, it would open the log of the system's nginx.
        return [self.program, "-e", "stderr", "-p", str(self.folder), "-c", str(self.configuration_file)]


def _socket(path: Path) -> Path:
    """Returns the path of a unix socket.

    Raises:
        BadInputError: If it is longer than the kernel allows.
    """
    if len(os.fsencode(path)) > _MOST_SOCKET_BYTES:
        raise BadInputError(
            f"{path}: a socket's path has at most {_MOST_SOCKET_BYTES} bytes; set TMPDIR to a shorter one"
        )
    return path


def _plain(path: Path) -> str:
    """Returns a path as nginx's configuration may have it.

    Raises:
        BadInputError: If it has a character that means something in there.
    """
    text = str(path.absolute())
    refused = sorted(_REFUSED_IN_PATHS & set(text))
    if refused:
        raise BadInputError(f"{path}: nginx cannot be told of a path with {refused[0]!r}; take another folder")
    return text
