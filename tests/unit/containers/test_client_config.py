"""Clusters' logins for the steps' containers."""

from __future__ import annotations

import io
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_pareto.errors import BadInputError
from kafka_pareto_containers.client_config import main

pytestmark = pytest.mark.fast


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_PARETO_CLIENT_CONFIGS", str(tmp_path))
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, content: bytes, *arguments: str) -> str:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    return main(list(arguments))


@pytest.mark.parametrize(("name", "content"), [("a.properties", b"security.protocol=SSL\n"), ("ca.p12", b"\0\xff")])
def test_a_file_is_stored_for_its_owner_alone_and_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
):
    run(monkeypatch, b"old=1", name)
    assert name in run(monkeypatch, content, name)
    assert (folder / name).read_bytes() == content
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    run(monkeypatch, b"", "--delete", name)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "content", "says"),
    [
        (["../a.properties"], b"a=1", "'../a.properties': must be a file's name"),
        ([".hidden"], b"a=1", "'.hidden': must be a file's name"),
        (["a.properties"], b"", "a.properties: standard input is empty"),
        (["a.properties"], b"a=\\u00zz", "a.properties: standard input is not a client.properties"),
        (["a.properties"], b"a=\xff", "a.properties: standard input is not a client.properties"),
        (["--delete", "b.properties"], b"", "b.properties: is not stored; stored: kept.properties"),
        ([], b"", "usage: client-config NAME < FILE"),
        (["--delete"], b"", "'--delete': must be a file's name"),
    ],
)
def test_what_cannot_be_stored_or_deleted_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], content: bytes, says: str
):
    (folder / "kept.properties").touch()
    with pytest.raises(BadInputError) as refused:
        run(monkeypatch, content, *arguments)
    assert says in str(refused.value)
    assert [file.name for file in folder.iterdir()] == ["kept.properties"]
