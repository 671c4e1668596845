"""Busy processes under a real limit of their CPU time, and without it again."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from kafka_pareto.drivers.services.cpu_limits import cpu_controller, limited_cores
from kafka_pareto.errors import BadInputError

pytestmark = pytest.mark.studies

_WATCHED_S = 2.0


@pytest.fixture
def busy() -> Iterator[list[psutil.Process]]:
    try:
        cpu_controller()
    except BadInputError as error:
        pytest.skip(str(error))
    with ExitStack() as opened:
        started = [opened.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"])) for _ in range(2)]
        yield [psutil.Process(each.pid) for each in started]
        for each in started:
            each.kill()


def cores_used_by(processes: list[psutil.Process]) -> float:
    before, began = sum(each.cpu_times().user for each in processes), time.monotonic()
    time.sleep(_WATCHED_S)
    return (sum(each.cpu_times().user for each in processes) - before) / (time.monotonic() - began)


def test_busy_processes_get_their_share_together_and_all_again_afterwards(busy: list[psutil.Process]) -> None:
    unlimited = cores_used_by(busy)
    with limited_cores(unlimited / 4, [each.pid for each in busy]):
        limited = cores_used_by(busy)
    freed = cores_used_by(busy)

    assert limited < unlimited / 3
    assert freed > unlimited / 2


def test_a_process_is_returned_to_the_group_that_it_came_from(busy: list[psutil.Process]) -> None:
    pid = busy[0].pid
    controller = cpu_controller()
    with limited_cores(0.5, [pid]):
        outer = controller.group_of(pid)
        with limited_cores(0.25, [pid]):
            inner = controller.group_of(pid)
        assert controller.group_of(pid) == outer != inner
    assert controller.group_of(pid) not in (outer, inner)
    assert not outer.exists()
