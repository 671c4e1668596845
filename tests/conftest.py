"""Fixtures that any test may ask for."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parents[1] / ".state/cache/hypothesis"))
# Whatever a script's shell runs in the background is deaf to it, and hands that down to what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
pytest_plugins = [
    "tests.airflow_home",
    "tests.system.broker_fixtures",
    "tests.contract.minio_fixture",
    "tests.tasks.reported_fixture",
]


_ORDER = ("fast", "stack", "brokers", "contract", "tasks", "dags", "browser")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Of several processes one takes a whole group: whatever shares servers stays together.

    xdist reads the groups before it asks for the items' order.
    """
    item.add_marker(pytest.mark.xdist_group(_group(item)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The fast tests go first: most mistakes show within two minutes. The rest by what takes longest."""
    items.sort(key=lambda item: _ORDER.index(_group(item)) if _group(item) in _ORDER else len(_ORDER))


def _group(item: pytest.Item) -> str:
    """What starts the same servers: by the marker, or else by the folder."""
    marked = [name for name in _ORDER[:3] if item.get_closest_marker(name)]
    return marked[0] if marked else item.path.relative_to(Path(__file__).parent).parts[0]


@pytest.fixture(scope="session", autouse=True)
def _garbage_is_collected_by_python_alone() -> Iterator[None]:
    """Statsmodels' multipletests collects at each call, and each time would look through all that pytest holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda *_: 0)
        yield


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own, to be filled."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True, check=False, timeout=10
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=10)
