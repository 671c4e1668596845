"""Fixtures that any test may ask for."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

import kafka_pareto.drivers
from kafka_pareto_embedded.terminal.as_typed import PREFIX
from tests.quick_java import VARIABLE, use_quick_java

# The options that `make test` passes on, empty as they are, would turn every message into the form of `make`.
for _name in [name for name in os.environ if name.startswith(PREFIX)]:
    del os.environ[_name]
# Small matrices: on two cores a second thread of BLAS's spins more than it computes, 27 s of CPU time for 8.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parents[1] / ".state/cache/hypothesis"))
# Whatever a script's shell runs in the background is deaf to it, and hands that down to what it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The tests' own driver lies as the library's do; only `other_driver.known_driver` puts it in their list.
kafka_pareto.drivers.__path__.append(str(Path(__file__).parent / "drivers"))
pytest_plugins = [
    "tests.airflow_home",
    "tests.spring_jars",
    "tests.system.broker_fixtures",
    "tests.system.ingestion_bench",
    "tests.contract.minio_fixture",
    "tests.tasks.reported_fixture",
]


def pytest_configure(config: pytest.Config) -> None:
    """Once, before there are any further processes."""
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        use_quick_java()


_FSYNC = os.fsync
_FAST = "pytest.mark.fast"
_ALL_FAST = re.compile(rf"^pytestmark = \[?{re.escape(_FAST)}\b", re.MULTILINE)
_ALL_SLOW = re.compile(r"^pytestmark = .*pytest\.mark\.slow", re.MULTILINE)
_IN_ANOTHER_GROUP = re.compile(r"^pytestmark = .*pytest\.mark\.(studies|long|compose)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files without a test of `make test`'s two groups, judged by their text: importing all takes a minute."""
    chosen = config.option.markexpr
    is_fast_group, is_slow_group = chosen in ("fast", "fast and not slow"), chosen.startswith("slow or not (fast ")
    if not (is_fast_group or is_slow_group):
        return None
    if collection_path.suffix != ".py":
        return True if collection_path.name in ("browser", "compose", "simulations", "stack") else None
    text = collection_path.read_text(encoding="utf-8")
    if is_fast_group:
        return True if _FAST not in text or (chosen != "fast" and _ALL_SLOW.search(text)) else None
    is_fast_alone = _ALL_FAST.search(text) and "pytest.mark.slow" not in text
    return True if is_fast_alone or _IN_ANOTHER_GROUP.search(text) else None


# The only folders in which `make test-studies` and `make test-compose` look for their tests.
_FOLDERS = {
    "studies": ("browser", "contract", "dags", "simulations", "stack", "system", "tasks"),
    "compose": ("compose",),
}
_ORDER = ("stack", "system", "contract", "tasks", "dags", "browser", "simulations", "unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The fast tests go first, since most mistakes show there. The rest by folders, what takes longest first.

    Raises:
        pytest.UsageError: If a test is in a folder in which nothing looks for its marker, or is fast by a marker that
            its file does not name.
    """

    def folder_of(item: pytest.Item) -> str:
        return item.path.relative_to(Path(__file__).parent).parts[0]

    for item in items:
        if item.get_closest_marker("fast") and _FAST not in item.path.read_text(encoding="utf-8"):
            raise pytest.UsageError(f"{item.nodeid}: its file must name {_FAST}, by which the fast group is found")
        for marker, folders in _FOLDERS.items():
            if item.get_closest_marker(marker) and folder_of(item) not in folders:
                where = " and ".join(f"tests/{folder}" for folder in folders)
                raise pytest.UsageError(f"{item.nodeid}: is marked {marker}, which is looked for in {where} alone")

    def order(item: pytest.Item) -> tuple[bool, int]:
        folder = folder_of(item)
        return item.get_closest_marker("fast") is None, _ORDER.index(folder) if folder in _ORDER else len(_ORDER)

    items.sort(key=order)


class SharedServersScheduling(LoadScopeScheduling):
    """Give one process all tests of a folder if they share servers, else those of a file."""

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.split("/")[1]
        return folder if folder in ("browser", "dags", "stack") else nodeid.split("::", maxsplit=1)[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """For `--dist loadscope`; xdist 3.8's `loadgroup` does nothing with pytest 9.2, whose node ids do not change."""
    return SharedServersScheduling(config, log) if config.getvalue("dist") == "loadscope" else None


@pytest.fixture(scope="session", autouse=True)
def _garbage_is_collected_by_python_alone() -> Iterator[None]:
    """Statsmodels' multipletests collects at each call, and each time would look through all that pytest holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "collect", lambda *_: 0)
        yield


@pytest.fixture(autouse=True)
def _no_fast_test_waits_for_a_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that they write must outlive a power cut, and a step stores thousands of files."""
    if request.node.get_closest_marker("fast"):
        monkeypatch.setattr(os, "fsync", os.fstat)  # which refuses what is no open file, too


@pytest.fixture
def real_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a fast test of what is on the disk."""
    monkeypatch.setattr(os, "fsync", _FSYNC)


@pytest.fixture(scope="module")
def real_java() -> Iterator[None]:
    """The Java that users have, for tests of speeds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        yield


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[Path]:
    """A small separate file system, to be filled."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)], capture_output=True, check=False, timeout=10
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=10)
