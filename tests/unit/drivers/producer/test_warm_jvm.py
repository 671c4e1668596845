"""One JVM for many loads: when it continues, when another begins; a shell script stands in for Java."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.warm_jvm import JVM_WARMUP_S, MOST_LOADS
from kafka_pareto.errors import LoadStartError, LoadToolError
from kafka_pareto.settings import Settings
from tests.recorded import FIXTURES

pytestmark = [pytest.mark.fast, pytest.mark.slow]

ANSWER = json.loads((FIXTURES / "load_generator" / "both_parts.json").read_text()) | {"process_cpu_s": 1.5}
TIMED = TimedLoad(warmup_s=0.25, seconds=1.0, paced_warmup_s=0.25, paced_seconds=1.0, paced_rate_records_s=500.0)
REQUEST = LoadRequest("t", 1024, {}, timeout_s=10, timed=TIMED)
MIB = 1 << 20
# Each line holds a request; what is in `do` is done once before it is answered.
SERVER = """#!/bin/sh
echo $$ >> {folder}/pids
while read -r line; do
  echo "$line" >> {folder}/requests
  if test -e {folder}/do; then mv {folder}/do {folder}/done; . {folder}/done; fi
  cat {folder}/answer
done
"""


@dataclass
class Bench:
    """A load generator whose Java is a script, and the script's notes."""

    generator: LoadGenerator
    folder: Path

    def run(self, **changes: Any) -> float:
        """Execute a load and return its CPU time."""
        return self.generator.run(replace(REQUEST, **changes)).client_cpu_s

    def next_does(self, commands: str) -> None:
        (self.folder / "do").write_text(commands)

    def pids(self) -> list[int]:
        return [int(line) for line in (self.folder / "pids").read_text().splitlines()]

    def requests(self) -> list[dict[str, str]]:
        lines = [json.loads(line) for line in (self.folder / "requests").read_text().splitlines()]
        return [dict(zip(options[::2], options[1::2], strict=True)) for options in lines]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    java, config = tmp_path / "java", tmp_path / "client.properties"
    java.write_text(SERVER.format(folder=tmp_path))
    java.chmod(0o755)
    (tmp_path / "answer").write_text(json.dumps(ANSWER) + "\n")
    config.write_text("ssl.key.password=s3cret\n")
    settings = Settings(java=str(java), kafka_jars=tmp_path)
    with LoadGenerator("b:9092", config, settings, keeps_jvm=True) as generator:
        yield Bench(generator, tmp_path)


def test_one_jvm_serves_all_loads_and_only_the_first_warms_it_up(bench: Bench):
    assert [bench.run() for _ in range(3)] == [1.5] * 3  # CPU time as the JVM counts it

    assert len(bench.pids()) == 1
    assert [float(each["--warmup-seconds"]) for each in bench.requests()] == [JVM_WARMUP_S, 0.25, 0.25]
    assert {each["--paced-warmup-seconds"] for each in bench.requests()} == {"0.25"}


def test_a_new_jvm_warms_up_in_the_rate_limited_part_if_there_is_no_other(bench: Bench):
    bench.run(timed=TIMED.model_copy(update={"seconds": 0.0, "warmup_s": 0.0}))

    assert float(bench.requests()[0]["--paced-warmup-seconds"]) == JVM_WARMUP_S


def test_the_properties_go_by_a_file_that_nobody_else_may_read_and_that_goes_with_its_load(bench: Bench):
    bench.next_does(
        'file=$(echo "$line" | tr -d \'[],"\' | sed "s/.*command-config //")\n'
        f'cp -p "$file" {bench.folder}/seen; tr "\\0" " " < /proc/$$/cmdline > {bench.folder}/argv'
    )
    bench.run(properties={"linger.ms": 7})

    seen = bench.folder / "seen"
    assert {"ssl.key.password=s3cret", "linger.ms=7"} <= set(seen.read_text().splitlines())
    assert stat.S_IMODE(seen.stat().st_mode) == 0o600
    assert bench.requests()[0]["--command-config"].startswith(f"/proc/{os.getpid()}/fd/")
    still_open = [str(each.resolve()) for each in Path("/proc/self/fd").iterdir()]
    assert not [each for each in still_open if "memfd" in each]
    assert "s3cret" not in (bench.folder / "argv").read_text() + (bench.folder / "requests").read_text()


def test_an_answered_failure_is_reported_without_secrets_and_the_jvm_continues(bench: Bench):
    answer = json.dumps({"failure": "ConfigException: s3cret is no key", "process_cpu_s": 0.1})
    bench.next_does(f"echo '{answer}'; continue")
    with pytest.raises(LoadToolError, match=r"failed: ConfigException: \[hidden\] is no key"):
        bench.run()

    bench.run()
    assert len(bench.pids()) == 1


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("echo out of memory >&2; exit 3", "failed with exit code 3: out of memory"),
        ("kill -9 $$", "failed with exit code -9"),
        ("exit 0", "ended without an answer"),
        ("echo no leader >&2; exec sleep 60", r"did not finish within 0\.5 s .* stopped; its output: no leader"),
        ("echo hello; continue", "is unreadable; it ends with 'hello'"),
    ],
    ids=["an error", "killed", "silence", "too slow", "no answer"],
)
def test_a_jvm_that_gives_no_answer_is_replaced(bench: Bench, does: str, says: str):
    bench.run()
    bench.next_does(does)
    with pytest.raises(LoadToolError, match=says):
        bench.run(timeout_s=0.5 if "sleep" in does else 10.0)

    assert bench.run() == 1.5
    first, second = bench.pids()
    assert not psutil.pid_exists(first)
    assert [float(each["--warmup-seconds"]) for each in bench.requests()] == [JVM_WARMUP_S, 0.25, JVM_WARMUP_S]
    assert psutil.pid_exists(second)


def test_a_jvm_that_was_killed_between_two_loads_costs_no_load(bench: Bench):
    bench.run()
    process = psutil.Process(bench.pids()[0])
    process.kill()
    psutil.wait_procs([process], timeout=10)

    assert bench.run() == 1.5
    assert len(bench.pids()) == 2


def test_a_load_of_which_the_watch_makes_an_end_ends_its_jvm(bench: Bench):
    def stop() -> None:
        raise RuntimeError("enough")

    bench.next_does("exec sleep 60")
    with pytest.raises(RuntimeError, match="enough"):
        bench.generator.run(replace(REQUEST, timeout_s=60), stop)
    assert not psutil.pid_exists(bench.pids()[0])


def test_only_a_load_that_needs_a_larger_heap_gets_another_jvm(bench: Bench):
    for buffer_mib in (32, 128, 32, 128, 64):
        bench.run(properties={"buffer.memory": buffer_mib * MIB})

    assert len(bench.pids()) == 2


def test_a_jvm_is_replaced_after_its_number_of_loads(bench: Bench):
    for _ in range(MOST_LOADS + 1):
        bench.run()

    assert len(bench.pids()) == 2


def test_stderr_of_one_load_is_not_attributed_to_the_next(bench: Bench):
    bench.next_does("echo disconnected >&2")

    assert bench.generator.run(REQUEST).errors == "disconnected"
    assert bench.generator.run(REQUEST).errors == ""


def test_the_jvm_ends_with_its_step(bench: Bench):
    bench.run()
    bench.generator.close()

    assert not psutil.pid_exists(bench.pids()[0])


def test_a_missing_java_is_not_blamed_on_the_configuration(tmp_path: Path):
    nowhere = LoadGenerator("b:9092", None, Settings(java=str(tmp_path / "none"), kafka_jars=tmp_path), keeps_jvm=True)
    with pytest.raises(LoadStartError, match=r"cannot be started: .*none"):
        nowhere.run(REQUEST)
