"""Refuse what cannot be backed up or restored, before Docker is asked for anything."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kafka_pareto_containers.backup import VOLUMES, main
from kafka_pareto_containers.env_file import PROJECT, completed

pytestmark = pytest.mark.fast


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete backup, whose `.env` is in use; there is no Docker."""
    example = (PROJECT / ".env.example").read_text(encoding="utf-8").replace("<group of DOCKER_SOCK>", "0")
    text = completed(example, "", {})
    folder = tmp_path / "backup"
    folder.mkdir()
    for file in (tmp_path / ".env", folder / "env"):
        file.write_text(text, encoding="utf-8")
    for volume in VOLUMES:
        (folder / f"{volume}.tar.gz").write_bytes(gzip.compress(b"archive"))
    monkeypatch.setenv("COMPOSE_ENV_FILES", str(tmp_path / ".env"))
    monkeypatch.setenv("PATH", "")
    return folder


def test_a_folder_that_exists_is_not_written_to(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["save", str(saved)]) == 1
    assert capsys.readouterr().err == f"error: FOLDER={saved}: exists already; choose another name\n"


def test_without_docker_nothing_is_left(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["save", str(saved.with_name("other"))]) == 1
    assert capsys.readouterr().err == "error: docker cannot be started: No such file or directory\n"
    assert sorted(each.name for each in saved.parent.iterdir()) == [".env", "backup"]


def test_an_incomplete_backup_is_not_restored(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = saved / "minio.tar.gz"
    archive.write_bytes(archive.read_bytes()[:-1])
    assert main(["restore", str(saved)]) == 1
    assert f"error: {archive}: is not complete: " in capsys.readouterr().err
    archive.unlink()
    assert main(["restore", str(saved)]) == 1
    assert "is not a backup: minio.tar.gz is missing" in capsys.readouterr().err


def test_a_backup_with_other_secrets_is_not_restored(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", str(saved)]) == 1
    assert "docker cannot be started" in capsys.readouterr().err  # so far, all is well
    env_file = saved.parent / ".env"
    env_file.write_text(env_file.read_text(encoding="utf-8") + "POSTGRES_PASSWORD=other\n", encoding="utf-8")
    assert main(["restore", str(saved)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {env_file}: POSTGRES_PASSWORD differs from the backup's; first copy {saved}")


@pytest.mark.parametrize("arguments", [[], ["save"], ["save", ""], ["remove", "folder"]])
def test_a_call_without_a_folder_says_how(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert "usage: make compose-backup FOLDER=…" in capsys.readouterr().err
