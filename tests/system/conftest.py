"""Fixtures of the system tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.system.embedded_stack import EmbeddedStack, embedded_stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedStack]:
    """The whole embedded stack, up and ready."""
    with embedded_stack(tmp_path_factory.mktemp("stack") / "state") as started:
        code, started.output = started.command("up")
        assert code == 0, started.output
        yield started
