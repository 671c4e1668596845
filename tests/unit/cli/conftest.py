"""The process of a command's test: left as it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _this_process_stays_as_it_is() -> Iterator[None]:
    umask, at_term = os.umask(0o077), signal.getsignal(signal.SIGTERM)
    os.umask(umask)
    yield
    os.umask(umask)
    signal.signal(signal.SIGTERM, at_term)
