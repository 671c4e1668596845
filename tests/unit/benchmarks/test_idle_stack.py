"""Memory of the idle stack, also when processes end while it is read."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from benchmarks.idle_stack import family, pss_mib

pytestmark = pytest.mark.fast


def test_a_program_that_has_ended_is_skipped() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        process = psutil.Process(child.pid)
        assert family(child.pid) == [process]
        assert pss_mib(process) > 0

    assert family(child.pid) == []
    assert pss_mib(process) == 0
