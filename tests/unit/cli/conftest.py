"""The process of a command's test: called by nobody's `make`, and left as it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from kafka_pareto_embedded.terminal.as_typed import PREFIX


@pytest.fixture(autouse=True)
def _this_process_stays_as_it_is() -> Iterator[None]:
    umask, at_term = os.umask(0o077), signal.getsignal(signal.SIGTERM)
    os.umask(umask)
    yield
    os.umask(umask)
    signal.signal(signal.SIGTERM, at_term)


@pytest.fixture(autouse=True)
def _make_has_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the options that `make test` hands over, empty as they are: a message names options as whoever called."""
    for name in list(os.environ):
        if name.startswith(PREFIX):
            monkeypatch.delenv(name)
