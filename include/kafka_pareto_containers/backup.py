"""Back up a stopped stack of docker-compose.yaml to a folder, and restore it into empty volumes.

Uses the standard library only, like `env_file`. Each volume is read and written in a container of the service that owns
its files, so nothing here needs more rights than the stack has. Compose's own variables COMPOSE_FILE and
COMPOSE_ENV_FILES are respected.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import BinaryIO

from kafka_pareto.storage.private_file import write_private
from kafka_pareto_containers.env_file import PROJECT, generated, pairs

# By volume: the service that owns its files, and its folder there. Brokers start empty with their IDs, since campaigns
# delete their topics.
VOLUMES = {
    "airflow-logs": ("airflow-triggerer", "/var/log/airflow"),
    "client-configs": ("client-config", "/var/lib/kafka-pareto/client-configs"),
    "minio": ("minio", "/var/lib/minio"),
    "postgres": ("postgres", "/var/lib/postgresql/data"),
}
_PROJECT_NAME = "kafka-pareto"
_MIB = 1 << 20
_LONGEST_S = 4 * 3600  # of one volume's archive


class BackupError(Exception):
    """A backup cannot be made or restored; the message says why, and what to do."""


def back_up(folder: Path) -> None:
    """Write `.env` and an archive of each volume to a new folder that only its owner can read.

    Raises:
        BackupError: If the folder exists, the stack is up, or a volume cannot be read.
    """
    if folder.exists():
        raise BackupError(f"FOLDER={folder}: exists already; choose another name")
    _require_stopped()
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # left by a killed backup
    partial.mkdir(mode=0o700)
    try:
        write_private(partial / "env", _env_file().read_text(encoding="utf-8"))
        for volume, (service, path) in VOLUMES.items():
            with _archive(partial, volume).open("xb") as written:
                _run(service, "tar", "-C", path, "-cz", ".", written=written)
            _require_complete(_archive(partial, volume))
            print(f"{volume}: {_archive(partial, volume).stat().st_size / _MIB:.1f} MiB", flush=True)
        os.sync()
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    print(f"Wrote {folder}. It contains the stack's passwords and keys: store it safely.")


def restore(folder: Path) -> None:
    """Fill the stack's empty volumes from a backup, whose secrets must be those of `.env`.

    Raises:
        BackupError: If the folder is not a complete backup, the secrets differ, the stack is up or has data already,
            or a volume cannot be written.
    """
    for file in (folder / "env", *(_archive(folder, volume) for volume in VOLUMES)):
        if not file.is_file():
            raise BackupError(f"FOLDER={folder}: is not a backup: {file.name} is missing")
    _require_secrets_of(folder / "env")
    for volume in VOLUMES:
        _require_complete(_archive(folder, volume))
    _require_stopped()
    for volume, (service, path) in VOLUMES.items():
        if _run(service, "ls", "-A", path):
            raise BackupError(
                f"volume {volume}: is not empty; remove this stack's data with `docker compose down --volumes`, "
                "then run this again"
            )
    for volume, (service, path) in VOLUMES.items():
        print(f"Restoring {volume} …", flush=True)
        try:
            with _archive(folder, volume).open("rb") as read:
                _run(service, "tar", "-C", path, "-xz", read=read)
        except BackupError as error:
            raise BackupError(
                f"volume {volume}: is incomplete; remove this stack's data with `docker compose down --volumes`, then "
                f"run this again: {error}"
            ) from error
    print("Restored. Start the stack with `docker compose up --detach --wait`.")


def _archive(folder: Path, volume: str) -> Path:
    return folder / f"{volume}.tar.gz"


def _env_file() -> Path:
    path = PROJECT / (os.environ.get("COMPOSE_ENV_FILES") or ".env")
    if not path.is_file():
        raise BackupError(
            f"{path}: does not exist; to restore a backup, first copy its file `env` there: docs/containers.md"
        )
    return path


def _require_secrets_of(saved: Path) -> None:
    env_file = _env_file()
    here, there = (pairs(each.read_text(encoding="utf-8")) for each in (env_file, saved))
    for name in generated((PROJECT / ".env.example").read_text(encoding="utf-8")):
        if name in there and here.get(name) != there[name]:
            raise BackupError(
                f"{env_file}: {name} differs from the backup's; first copy {saved} there: docs/containers.md"
            )


def _require_complete(archive: Path) -> None:
    try:
        with gzip.open(archive) as content:
            while content.read(_MIB):  # up to the checksum at its end
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise BackupError(f"{archive}: is not complete: {error}") from error


def _require_stopped() -> None:
    label = f"label=com.docker.compose.project={_PROJECT_NAME}"
    if running := _docker("ps", "--format", "{{.Names}}", "--filter", label).split():
        raise BackupError(
            f"the stack is up ({', '.join(sorted(running))}); stop it with "
            "`docker compose --profile '*' down --remove-orphans`, then run this again"
        )


def _run(
    service: str, program: str, *arguments: str, read: BinaryIO | None = None, written: BinaryIO | None = None
) -> str:
    """Run the program as the service's user, with the service's volumes; return its output if it is not `written`."""
    container = ["run", "--rm", "--no-TTY", "--no-deps", "--entrypoint", program, service]
    return _docker("compose", "--project-name", _PROJECT_NAME, *container, *arguments, read=read, written=written)


def _docker(*arguments: str, read: BinaryIO | None = None, written: BinaryIO | None = None) -> str:
    try:
        done = subprocess.run(
            ["docker", *arguments],
            cwd=PROJECT,
            env=dict(os.environ),  # docker-compose.yaml may refer to any of the user's variables
            timeout=_LONGEST_S,
            stdin=read or subprocess.DEVNULL,
            stdout=written or subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise BackupError(f"docker cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BackupError(f"`docker {' '.join(arguments)}` did not end within {_LONGEST_S} s") from error
    if done.returncode:
        raise BackupError(f"`docker {' '.join(arguments)}` failed: {done.stderr.decode(errors='replace').strip()}")
    return (done.stdout or b"").decode(errors="replace").strip()


def main(arguments: list[str]) -> int:
    """Run the command, report an error, and return the exit code."""
    commands = {"save": back_up, "restore": restore}
    if len(arguments) != 2 or arguments[0] not in commands or not arguments[1]:
        print("error: usage: make compose-backup FOLDER=…, or make compose-restore FOLDER=…", file=sys.stderr)
        return 1
    try:
        commands[arguments[0]](Path(arguments[1]).expanduser().resolve())
    except (BackupError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main(sys.argv[1:]))
