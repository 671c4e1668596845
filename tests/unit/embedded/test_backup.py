"""A backup of a stack's files, and what is refused; a restored stack that runs is among the tests of the stack."""

from __future__ import annotations

import io
import os
import resource
import tarfile
from pathlib import Path

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.errors import StackError
from kafka_pareto_embedded.lifecycle.backup import back_up, restore
from kafka_pareto_embedded.lifecycle.lifecycle import up
from kafka_pareto_embedded.stack.credentials import Credentials, write_credentials

pytestmark = pytest.mark.fast
FILES = {
    "airflow/airflow.db": b"database",
    "airflow/logs/dag/attempt.log": b"log",
    "brokers/cluster-id": b"the-id",
    "minio/bucket/study/campaign/xl.meta": os.urandom(100_000),
    "mlflow/mlflow.db": b"runs",
    "load-machines.pem": b"key",
}
NOT_KEPT = ("airflow/airflow.cfg", "brokers/kafka-1/data/log", "logs/kafka-1.log", "ports.json", "venv/bin/python")


def say(_: str) -> None:
    pass


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    for name in (*FILES, *NOT_KEPT):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(FILES.get(name, b""))
    (folder / "airflow/logs/latest").symlink_to("dag")
    write_credentials(folder / "secrets.env", Credentials())
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(folder))
    return folder


@pytest.fixture
def backup(state: Path, tmp_path: Path) -> Path:
    assert state.exists()
    file = tmp_path / "stack.tar.gz"
    assert back_up(file, say) == file.stat().st_size
    return file


@pytest.fixture
def elsewhere(backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert backup.exists()
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "elsewhere"))
    return tmp_path / "elsewhere"


def test_results_databases_and_secrets_come_back_for_their_owner_alone(
    state: Path, backup: Path, elsewhere: Path
) -> None:
    assert restore(backup, say) == elsewhere
    files = {str(path.relative_to(elsewhere)): path for path in elsewhere.rglob("*") if path.is_file()}
    assert set(files) == {*FILES, "secrets.env", ".kafka-pareto-state", ".lock"}, "without links and derived files"
    assert {name: files[name].read_bytes() for name in FILES} == FILES
    assert files["secrets.env"].read_text() == (state / "secrets.env").read_text()
    restored = [backup, *(files[name] for name in (*FILES, "secrets.env"))]
    assert {path.stat().st_mode & 0o777 for path in restored} == {0o600}
    assert {path.stat().st_mode & 0o077 for path in elsewhere.rglob("*") if path.is_dir()} == {0}


def test_nothing_is_overwritten(state: Path, backup: Path) -> None:
    with pytest.raises(BadInputError, match=f"FILE={backup}: exists already"):
        back_up(backup, say)
    with pytest.raises(
        BadInputError, match=f"KAFKA_PARETO_STATE={state}: contains files that do not belong to a stack"
    ):
        restore(backup, say)
    (state / ".kafka-pareto-state").touch()
    with pytest.raises(BadInputError, match=f"{state}: contains a stack already \\(airflow\\)"):
        restore(backup, say)


@pytest.mark.usefixtures("state")
def test_a_backup_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="its folder does not exist"):
        back_up(tmp_path / "no" / "stack.tar.gz", say)
    file = tmp_path / "full" / "stack.tar.gz"
    file.parent.mkdir()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limit[1]))  # as if the disk were full
    try:
        with pytest.raises(StackError, match=f"{file}: File too large; fix this"):
            back_up(file, say)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert list(file.parent.iterdir()) == []


def test_what_cannot_be_restored_is_refused_while_it_can_still_be_read(state: Path, tmp_path: Path) -> None:
    os.mkfifo(state / "minio" / "pipe")
    with pytest.raises(StackError, match="minio/pipe: cannot be backed up, because it is neither a file nor a folder"):
        back_up(tmp_path / "stack.tar.gz", say)
    with pytest.raises(BadInputError, match="is inside the state folder, which `make clean` removes"):
        back_up(state / "minio" / "stack.tar.gz", say)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_folder_on_another_disk_is_backed_up_with_its_content(state: Path, tmp_path: Path) -> None:
    (state / "minio").rename(tmp_path / "big-disk")
    (state / "minio").symlink_to(tmp_path / "big-disk")
    back_up(tmp_path / "stack.tar.gz", say)
    with tarfile.open(tmp_path / "stack.tar.gz") as archive:
        assert "minio/bucket/study/campaign/xl.meta" in archive.getnames()


def test_an_interrupted_restore_keeps_the_stack_from_starting_until_it_is_completed(
    backup: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved, rename = [], Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if target.name == "mlflow" and not moved:
            moved.append(target)
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        restore(backup, say)
    with pytest.raises(BadInputError, match="a restore was interrupted; run the same `make restore` again"):
        up(say)
    restore(backup, say)
    assert {name: (elsewhere / name).read_bytes() for name in FILES} == FILES
    assert not (elsewhere / ".restored").exists()


def test_no_stack_is_no_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path))
    with pytest.raises(BadInputError, match="contains no stack yet; start it with `make up`"):
        back_up(tmp_path / "stack.tar.gz", say)


@pytest.mark.parametrize("kept", [10, 50_000, -4])
def test_a_backup_cut_short_restores_nothing(backup: Path, elsewhere: Path, kept: int) -> None:
    backup.write_bytes(backup.read_bytes()[:kept])
    with pytest.raises(BadInputError, match=f"FILE={backup}: is not a complete backup: "):
        restore(backup, say)
    assert {path.name for path in elsewhere.iterdir()} == {".kafka-pareto-state", ".lock"}


def test_a_damaged_backup_restores_nothing(backup: Path, elsewhere: Path) -> None:
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 0xFF
    backup.write_bytes(content)
    with pytest.raises(BadInputError, match=f"FILE={backup}: is not a complete backup: "):
        restore(backup, say)
    assert {path.name for path in elsewhere.iterdir()} == {".kafka-pareto-state", ".lock"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("minio/../../escaped", tarfile.REGTYPE),
        ("/srv/escaped", tarfile.REGTYPE),
        ("venv/bin/python", tarfile.REGTYPE),
        ("minio/link", tarfile.SYMTYPE),
        ("minio/pipe", tarfile.FIFOTYPE),
        ("airflow/airflow.cfg", tarfile.REGTYPE),
    ],
)
def test_what_no_backup_contains_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: bytes
) -> None:
    file = tmp_path / "other.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member, io.BytesIO())
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "elsewhere"))
    with pytest.raises(BadInputError, match=f"FILE={file}: is not a backup of a stack: it contains '{name}'"):
        restore(file, say)
    assert not (tmp_path / "escaped").exists()


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PARETO_STATE", str(tmp_path / "elsewhere"))
    with pytest.raises(BadInputError, match=f"FILE={tmp_path / 'no.tar.gz'}: does not exist"):
        restore(tmp_path / "no.tar.gz", say)
    assert list(tmp_path.iterdir()) == []
