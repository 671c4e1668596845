from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext

import psutil
import pytest

from kafka_pareto.drivers.log_pipeline.attempt import require_one_clock
from kafka_pareto.drivers.log_pipeline.watch import Watch
from kafka_pareto.errors import LoadToolError
from tests.unit.drivers.log_pipeline.made_events import made_events, reconciled

pytestmark = pytest.mark.fast

BUSY = "import time\nwhile time.process_time() < 0.6: pass\ntime.sleep(30)"


@pytest.mark.slow
def test_a_part_and_its_children_are_counted_from_the_beginning_on() -> None:
    starts_busy = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    roots: dict[str, int] = {}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]) as idle:
        roots["idle"] = idle.pid
        with Watch(lambda: dict(roots), ["busy"]) as watch:
            with subprocess.Popen([sys.executable, "-c", starts_busy]) as busy:
                roots["busy"] = busy.pid
                deadline, found = time.monotonic() + 30, watch.watched(watch.counted(), watch.counted())
                while time.monotonic() < deadline and found.whole.uses["busy"].cpu_s < 0.5:
                    time.sleep(0.2)
                    found = watch.watched(watch.counted(), watch.counted())
                for each in (*psutil.Process(busy.pid).children(), busy):
                    each.kill()
            idle.kill()

    assert found.whole.uses["busy"].cpu_s >= 0.5
    assert found.whole.uses["idle"].cpu_s < 0.2
    assert found.whole.uses["busy"].minor_faults > 100
    assert found.memory_mib > 5
    assert found.clock_step_ms < 50
    assert found.whole.seconds > 0.2


@pytest.mark.slow
def test_children_are_counted_only_of_parts_that_are_said_to_have_them() -> None:
    starts_busy = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    with subprocess.Popen([sys.executable, "-c", starts_busy]) as parent:
        with Watch(lambda: {"parent": parent.pid}) as watch:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline and not (children := psutil.Process(parent.pid).children()):
                time.sleep(0.05)
            while time.monotonic() < deadline and sum(children[0].cpu_times()[:2]) < 0.5:
                time.sleep(0.05)
            counted = watch.counted()
        for each in (*children, parent):
            each.kill()

    assert counted.uses["parent"].cpu_s < 0.4


@pytest.mark.parametrize(("set_by_s", "told"), [(0.0008, ""), (0.003, "the clock was set by 3.0 ms")])
def test_a_clock_that_is_set_by_more_than_a_millisecond_fails_the_run(set_by_s: float, told: str) -> None:
    offsets = iter([7.0, 7.0])  # when it begins, and at the first look
    with Watch(dict, clock_offset_s=lambda: next(offsets, 7.0 + set_by_s)) as watch:
        watched = watch.watched(watch.counted(), watch.counted())

    assert watched.clock_step_ms == pytest.approx(1000 * set_by_s)
    with pytest.raises(LoadToolError, match=told) if told else nullcontext():
        require_one_clock(reconciled(made_events([0], [10])), watched)
