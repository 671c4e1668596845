"""The tests' browser: the machine's own, else the one that set-up has fetched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_pareto.errors import BadInputError
from tests.browser.chromium import browser_command

pytestmark = pytest.mark.fast

FILES = Path(__file__).parents[2] / "browser" / "fetched"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder of the PATH; empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def _program(file: Path) -> str:
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def test_the_machines_own_browser_goes_first_and_keeps_the_machines_libraries(path: Path, tmp_path: Path) -> None:
    _program(tmp_path / "fetched" / "chromium")
    own = _program(path / "google-chrome")
    found, environment = browser_command(tmp_path / "fetched")
    assert found == own
    assert "FONTCONFIG_FILE" not in environment


@pytest.mark.usefixtures("path")
def test_the_fetched_one_runs_with_the_libraries_and_fonts_that_came_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "fetched"
    fetched = _program(folder / "chromium")
    found, environment = browser_command(folder)
    assert found == fetched
    assert environment["LD_LIBRARY_PATH"] == str(folder / "al2023" / "lib")
    assert environment["FONTCONFIG_FILE"] == str(folder / "fonts.conf")
    assert (FILES / "fonts.conf").exists()


@pytest.mark.usefixtures("path")
def test_without_any_the_fix_is_shown(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="`make test` fetches one, or put chromium on the PATH"):
        browser_command(tmp_path / "fetched")


def test_all_that_is_fetched_is_pinned_with_its_hash() -> None:
    packages = json.loads((FILES / "package-lock.json").read_text())["packages"]
    wanted = json.loads((FILES / "package.json").read_text())["dependencies"]
    assert packages[""]["dependencies"] == wanted
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert [name for name, package in packages.items() if name and not package["integrity"].startswith("sha512-")] == []
