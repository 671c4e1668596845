from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from kafka_pareto.drivers.log_pipeline.attempt import require_one_clock
from kafka_pareto.drivers.log_pipeline.watch import Watch
from kafka_pareto.errors import LoadToolError
from tests.unit.drivers.log_pipeline.made_events import made_events, reconciled

pytestmark = pytest.mark.fast

MIB = 1 << 20

BUSY = "import time\nwhile time.process_time() < 0.6: pass\ntime.sleep(30)"


@pytest.mark.slow
def test_a_part_is_counted_from_the_beginning_on_and_its_children_if_it_is_said_to_have_them() -> None:
    starts_busy = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"
    roots: dict[str, int] = {}
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"]) as idle:
        roots["idle"] = idle.pid
        with Watch(lambda: dict(roots), ["busy"]) as watch, Watch(lambda: dict(roots)) as childless:
            with subprocess.Popen([sys.executable, "-c", starts_busy]) as busy:
                roots["busy"] = busy.pid
                deadline, found = time.monotonic() + 30, watch.watched(watch.counted(), watch.counted())
                while time.monotonic() < deadline and found.whole.uses["busy"].cpu_s < 0.5:
                    time.sleep(0.2)
                    found = watch.watched(watch.counted(), watch.counted())
                without_children = childless.counted()
                for each in (*psutil.Process(busy.pid).children(), busy):
                    each.kill()
            idle.kill()

    assert found.whole.uses["busy"].cpu_s >= 0.5
    assert without_children.uses["busy"].cpu_s < 0.4
    assert found.whole.uses["idle"].cpu_s < 0.2
    assert found.whole.uses["busy"].minor_faults > 100
    assert found.memory_mib > 5
    assert found.clock_step_ms < 50
    assert found.whole.seconds > 0.2


@pytest.mark.slow
def test_what_a_part_holds_is_summed_over_its_processes(tmp_path: Path) -> None:
    held = """
import subprocess, sys, threading, time
files = [open(sys.argv[1], "a") for _ in range(20)]
threads = [threading.Thread(target=time.sleep, args=(30,), daemon=True) for _ in range(4)]
for each in threads: each.start()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
print("ready", flush=True)
time.sleep(30)
"""
    with subprocess.Popen([sys.executable, "-c", held, str(tmp_path / "a")], stdout=subprocess.PIPE) as part:
        assert part.stdout
        part.stdout.readline()
        with Watch(lambda: {"part": part.pid, "gone": 2**22}, ["part"]) as watch:
            found = watch.watched(watch.counted(), watch.counted()).resources
        for each in (*psutil.Process(part.pid).children(), part):
            each.kill()

    assert set(found) == {"part"}
    assert found["part"].threads == 5 + 1
    assert 20 + 3 + 3 <= found["part"].open_files < 40
    assert 10 * MIB < found["part"].memory_bytes < 100 * MIB


@pytest.mark.parametrize(("set_by_s", "told"), [(0.0008, ""), (0.003, "the clock was adjusted by 3.0 ms")])
def test_a_clock_that_is_set_by_more_than_a_millisecond_fails_the_run(set_by_s: float, told: str) -> None:
    offsets = iter([7.0, 7.0])  # when it begins, and at the first look
    with Watch(dict, clock_offset_s=lambda: next(offsets, 7.0 + set_by_s)) as watch:
        watched = watch.watched(watch.counted(), watch.counted())

    assert watched.clock_step_ms == pytest.approx(1000 * set_by_s)
    with pytest.raises(LoadToolError, match=told) if told else nullcontext():
        require_one_clock(reconciled(made_events([0], [10])), watched)
