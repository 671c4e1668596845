"""A busy process under a real limit of its CPU time, and without it again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from kafka_pareto.drivers.services.cpu_limits import CpuLimits, cpu_controller
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.studies

_WATCHED_S = 2.0


@pytest.fixture
def busy() -> Iterator[psutil.Process]:
    try:
        cpu_controller()
    except BadInputError as error:
        pytest.skip(str(error))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield psutil.Process(process.pid)
        process.kill()


def cores_used_by(process: psutil.Process) -> float:
    before, began = process.cpu_times().user, time.monotonic()
    time.sleep(_WATCHED_S)
    return float(process.cpu_times().user - before) / (time.monotonic() - began)


def test_a_busy_process_gets_its_share_and_no_more_and_all_again_afterwards(busy: psutil.Process) -> None:
    unlimited = cores_used_by(busy)
    with CpuLimits({busy.pid: unlimited / 4}):
        limited = cores_used_by(busy)
    freed = cores_used_by(busy)

    assert limited < unlimited / 3
    assert freed > unlimited / 2
