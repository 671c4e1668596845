"""Back up the embedded stack to one file, and restore it in a state folder without a stack."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.private_file import private_file
from kafka_pareto_embedded.bootstrap.preflight import state_folder
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.lifecycle import UNFINISHED_RESTORE, claim, file_errors_named, locked
from kafka_pareto_embedded.lifecycle.supervision import Supervisor

_SECRETS = "secrets.env"
# Of the brokers only the ID, since active settings hold for a cluster; campaigns delete their topics.
_KEPT = ("airflow", "brokers/cluster-id", "client-configs", "load-machines.pem", "minio", "mlflow", _SECRETS)
_DERIVED = "airflow/airflow.cfg"  # has the folder's path; Airflow recreates it
_LOGS = "airflow/logs/"  # has links to the latest ones
_MIB = 1 << 20
_FASTEST = 1  # most of the data is compressed already
_UNREADABLE = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error)


def back_up(file: Path, say: Callable[[str], None]) -> int:
    """Write a stopped stack's results, databases and secrets to a file readable only by its owner; return its size.

    Raises:
        BadInputError: If there is no stack, or the file exists or is inside the state folder.
        StackError: If the stack is up, or a file cannot be read or written.
    """
    state, file = state_folder(os.environ), file.expanduser().resolve()
    if not (state / _SECRETS).exists():
        raise BadInputError(f"{state}: contains no stack yet; start it with `make up`")
    if file.exists():
        raise BadInputError(f"FILE={file}: exists already; choose another name")
    if file.is_relative_to(state):
        raise BadInputError(f"FILE={file}: is inside the state folder, which `make clean` removes; choose another one")
    if not file.parent.is_dir():
        raise BadInputError(f"FILE={file}: its folder does not exist")
    with locked(state), file_errors_named(file):
        supervisor = Supervisor(state)
        if supervisor.is_up():
            raise StackError("the stack is up, so its files may change; stop it with `make down`, then run this again")
        supervisor.end_leftovers()
        with (
            private_file(file) as written,
            file_errors_named(file),  # of a file that cannot be read: `private_file` would name the backup instead
            tarfile.open(fileobj=written, mode="w:gz", compresslevel=_FASTEST) as archive,
        ):
            for kept in _KEPT:
                if (state / kept).exists():
                    say(f"Backing up {kept} …")
                    archive.add((state / kept).resolve(), kept, filter=_archived)
    size = file.stat().st_size
    say(f"Wrote {file}, {size / _MIB:.1f} MiB. It contains the stack's passwords and keys: store it safely.")
    return size


def restore(file: Path, say: Callable[[str], None]) -> Path:
    """Restore a backup, and return the state folder. The next start of the stack continues from there.

    An interrupted call is completed by the next one.

    Raises:
        BadInputError: If the file is not a complete backup, or the folder contains a stack already.
        StackError: If the folder cannot be written.
    """
    state, file = state_folder(os.environ), file.expanduser()
    if not file.is_file():
        raise BadInputError(f"FILE={file}: does not exist")
    claim(state)
    verified = state / UNFINISHED_RESTORE
    with locked(state):
        if not verified.exists():
            for kept in _KEPT:
                if (state / kept).exists():
                    raise BadInputError(
                        f"{state}: contains a stack already ({kept}); restore into a new folder "
                        "(KAFKA_PARETO_STATE=…), or remove the stack and its data with `make clean`"
                    )
            say(f"Restoring {file} …")
            _unpack(file, state / ".restoring", verified)
        for kept in _KEPT:
            if (verified / kept).exists():
                (state / kept).parent.mkdir(mode=0o700, exist_ok=True)
                (verified / kept).rename(state / kept)
        os.sync()
        shutil.rmtree(verified)
    say(f"Restored {state}. Start the stack with `make up`.")
    return state


def _archived(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if member.name == _DERIVED or (member.issym() and member.name.startswith(_LOGS)):
        return None
    if not _is_expected(member):
        raise StackError(f"{member.name}: cannot be backed up, because it is neither a file nor a folder; remove it")
    return member


def _is_expected(member: tarfile.TarInfo) -> bool:
    is_kept = any(f"{member.name}/".startswith(f"{kept}/") for kept in _KEPT) and member.name != _DERIVED
    return is_kept and ".." not in Path(member.name).parts and (member.isfile() or member.isdir())


def _unpack(file: Path, folder: Path, verified: Path) -> None:
    """Unpack into the folder, and rename it if the backup is complete."""
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed restore
    folder.mkdir(mode=0o700)
    try:
        with gzip.open(file) as content, tarfile.open(fileobj=content, mode="r:") as archive:
            for member in archive:
                if not _is_expected(member):
                    raise BadInputError(f"FILE={file}: is not a backup of a stack: it contains {member.name!r}")
                path, source = folder / member.name, archive.extractfile(member)
                (path.parent if source else path).mkdir(mode=0o700, parents=True, exist_ok=True)
                if source:
                    with source, path.open("xb") as written:
                        path.chmod(0o600)
                        shutil.copyfileobj(source, written)
            while content.read(_MIB):  # up to the checksum at its end
                pass
        if not (folder / _SECRETS).is_file():
            raise BadInputError(f"FILE={file}: is not a complete backup: {_SECRETS} is missing")
        os.sync()
        folder.rename(verified)
    except _UNREADABLE as error:
        raise BadInputError(f"FILE={file}: is not a complete backup: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
