"""The private engine and the stack on it, each made once for all tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compose.comparisons import STUDIES
from tests.compose.engine import Engine, private_engine, why_not
from tests.compose.phases import TAKEN, phase
from tests.compose.stack import ComposeStack, running_stack
from tests.required import require


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A container engine of these tests' own."""
    require("the stack in containers", why_not())
    starting = phase("engine and base image")
    starting.__enter__()
    with private_engine(tmp_path_factory.mktemp("engine")) as started:
        starting.__exit__(None, None, None)
        yield started


@pytest.fixture(scope="module")
def stack(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeStack]:
    """The stack in containers, healthy."""
    with running_stack(engine, tmp_path_factory.mktemp("stack"), STUDIES) as started:
        yield started


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name, seconds in TAKEN:
        terminalreporter.write_line(f"compose: {name}: {seconds:.0f} s")
