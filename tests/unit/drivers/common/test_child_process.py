"""Child processes that answer in lines of JSON, and some that do not."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest

from kafka_pareto.drivers.common.child_process import READY, ChildProcess, end_all, run_to_end
from kafka_pareto.errors import LoadStartError, LoadToolError

pytestmark = pytest.mark.fast

STARTED: list[ChildProcess] = []


def child(code: str) -> ChildProcess:
    STARTED.append(ChildProcess("the child", [sys.executable, "-u", "-c", code], {"PATH": os.environ["PATH"]}))
    return STARTED[-1]


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    end_all(STARTED, 5)
    STARTED.clear()


def test_it_answers_requests_and_lines_that_are_not_json_are_skipped() -> None:
    code = r"""
import json, sys, time
while time.process_time() < 0.1: pass  # the kernel may count in steps of 0.01 s
sys.stdout.buffer.write(b'starting \xff\nnull\n5\n')
print(json.dumps({"ready": "child"}))
for line in sys.stdin:
    print(json.dumps({"other": 1}))
    print(json.dumps({"run": json.loads(line)["run"], "done": 2}))
"""
    talks = child(code)

    assert talks.next_line(READY, 10) == {"ready": "child"}
    talks.tell({"run": "a"})
    talks.tell({"run": "b"})
    assert talks.next_line("run", 10, "b") == {"run": "b", "done": 2}
    assert talks.exit_code is None
    assert talks.cpu_s() > 0


def test_a_process_that_ends_is_reported_with_its_last_output() -> None:
    ends = child("import sys; sys.exit('no such\\nsetting')")

    with pytest.raises(LoadStartError, match=r"the child has ended with exit code 1: no such setting"):
        ends.next_line(READY, 10)
    with pytest.raises(LoadToolError, match=r"no such setting"):
        ends.require_running()
    with pytest.raises(LoadToolError, match=r"the child has ended: no such setting"):
        ends.tell({"run": "a"})


@pytest.mark.slow
def test_a_silent_process_times_out_while_others_are_watched() -> None:
    looked = []
    with pytest.raises(LoadToolError, match=r"the child did not answer within 0.3 s: it printed nothing"):
        child("import time; time.sleep(60)").next_line("run", 0.3, meanwhile=lambda: looked.append(1))
    assert looked


def test_a_missing_program_is_reported() -> None:
    missing = ChildProcess("the shop", ["/no/such/program"], {"PATH": os.environ["PATH"]})
    STARTED.append(missing)
    with pytest.raises(LoadStartError, match=r"the shop has ended with exit code 127: .*not found"):
        missing.next_line(READY, 10)


def test_a_grandchild_holding_the_pipe_does_not_delay_the_end() -> None:
    code = "import subprocess; print('{\"ready\": 1}'); subprocess.Popen(['sleep', '8']).wait()"
    parent = child(code)
    parent.next_line(READY, 10)
    began_s = time.monotonic()
    parent.close()

    assert time.monotonic() - began_s < 5


def test_a_program_runs_to_its_end_and_a_failure_or_timeout_is_reported() -> None:
    def run(code: str, within_s: float = 10.0) -> bytes:
        return run_to_end("the program", [sys.executable, "-c", code], {"PATH": os.environ["PATH"]}, within_s)

    assert run("print(5)") == b"5\n"
    with pytest.raises(LoadToolError, match="the program ended with exit code 3: no room"):
        run("import sys; print('no  room', file=sys.stderr); sys.exit(3)")
    with pytest.raises(LoadToolError, match=r"the program did not finish within 0\.2 s"):
        run("import time; time.sleep(60)", 0.2)
