"""Counts what processes of our own use."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from kafka_pareto.drivers.log_pipeline.watch import Watch

pytestmark = pytest.mark.fast

BUSY = "import time\nwhile time.process_time() < 0.6: pass\ntime.sleep(30)"


def test_a_part_and_its_children_are_counted_from_the_beginning_on() -> None:
    starts_busy = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    roots: dict[str, int] = {}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]) as idle:
        roots["idle"] = idle.pid
        with Watch(lambda: dict(roots)) as watch:
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
