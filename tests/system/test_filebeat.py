"""Filebeat as built here: every event arrives stamped and complete, whatever happens to receiver and file."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from kafka_pareto.brokers.ports import free_ports
from kafka_pareto.brokers.processes import tied
from kafka_pareto.drivers.log_pipeline.filebeat_pair import filebeat_yml
from kafka_pareto.drivers.log_pipeline.study import PIPELINE_SETTINGS
from kafka_pareto.rollout.client_files import settings_file
from kafka_pareto.study.factors import FactorValue
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.processes import end_process
from tests.required import needs
from tests.system.beats_receiver import Event, Receiver

BINARY = Path(__file__).parents[2] / ".state" / "log-pipeline" / "filebeat"

pytestmark = [
    pytest.mark.studies,
    needs(BINARY.exists(), "Filebeat is not built; `make log-pipeline` does it"),
]

# Quick, so that a test takes seconds.
SETTINGS = {
    "log_lines": "single",
    "scan_frequency_ms": 100,
    "close_inactive_s": 60,
    "backoff_ms": 10,
    "max_backoff_ms": 50,
    "flush_min_events": 1,
    "flush_timeout_ms": 0,
    "bulk_max_size": 10,
    "pipelining": 0,
}


class Bench:
    """An access log, and the Filebeat that follows it."""

    def __init__(self, folder: Path) -> None:
        self.port = free_ports(1)[0]
        self.log = folder / "access.log"
        self._folder = folder
        self._written = 0

    @contextmanager
    def filebeat(self, **changes: FactorValue) -> Iterator[None]:
        settings = {**SETTINGS, **changes}
        with self.filebeat_by(filebeat_yml(settings, self.log, self._folder / "state", f"127.0.0.1:{self.port}")):
            yield

    @contextmanager
    def filebeat_by(self, configuration: str) -> Iterator[None]:
        file = self._folder / "filebeat.yml"
        file.write_text(configuration)
        file.chmod(0o600)
        with (self._folder / "filebeat.log").open("ab") as said:
            process = subprocess.Popen(
                tied([str(BINARY), "-c", str(file)]),
                env={},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
        try:
            yield
            assert process.poll() is None, (self._folder / "filebeat.log").read_text()
        finally:
            end_process(process, 10)

    def write(self, lines: int, file: Path | None = None) -> list[str]:
        """Appends that many lines to the log, or to a file, and returns them."""
        new = [json.dumps({"request_id": f"{self._written + number}"}) for number in range(lines)]
        self._written += lines
        with (file or self.log).open("a") as log:
            log.writelines(f"{line}\n" for line in new)
        return new


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def wait_for(receiver: Receiver, lines: list[str], timeout_s: float = 30) -> None:
    """Waits until so many events are there as lines were written, and requires that they are these, each once."""
    wait_until(f"{len(lines)} events arrived", lambda: len(receiver.messages) >= len(lines), timeout_s, poll_s=0.02)
    assert sorted(receiver.messages) == sorted(lines)


def read_ms(event: Event) -> int:
    """t1: when Filebeat read the event's first line."""
    return round(datetime.fromisoformat(event["@timestamp"]).timestamp() * 1000)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize("pipelining", [0, 2])
def test_each_event_is_stamped_when_it_is_read_and_when_it_is_sent(bench: Bench, pipelining: int) -> None:
    with Receiver(bench.port) as receiver, bench.filebeat(pipelining=pipelining):
        begun_ms = now_ms()
        lines = bench.write(100)
        wait_for(receiver, lines)

    for batch in receiver.batches:
        for event in batch.events:
            assert begun_ms <= read_ms(event) <= event["t2"] <= batch.received_ms


def test_with_the_delivered_file_it_reads_and_sends(bench: Bench, tmp_path: Path) -> None:
    pipeline = {each.name: each.value(each.default) for each in PIPELINE_SETTINGS} | {"log_lines": "single"}
    text = settings_file({**pipeline, "flush_timeout_ms": 0}, "filebeat.yml", ["why"], "log_pipeline")
    text = text.replace("/var/log/nginx/access.log", str(bench.log))
    text = text.replace("localhost:5044", f"127.0.0.1:{bench.port}")
    lines = bench.write(20)
    with Receiver(bench.port) as receiver, bench.filebeat_by(f"{text}path.home: {tmp_path / 'state'}\n"):
        wait_for(receiver, lines)


OF_FILEBEAT = PIPELINE_SETTINGS[: [each.name for each in PIPELINE_SETTINGS].index("aggregator_batch_size")]
ENDS = [(each.name, end) for each in OF_FILEBEAT for end in (each.choices or (each.least, each.most))]


@pytest.mark.long
@pytest.mark.parametrize(("name", "value"), ENDS)
def test_it_accepts_the_delivered_file_at_both_ends_of_each_range(
    bench: Bench, tmp_path: Path, name: str, value: FactorValue
) -> None:
    pipeline = {each.name: each.value(each.default) for each in PIPELINE_SETTINGS}
    pipeline |= {name: value} | ({"max_backoff_ms": value} if name == "backoff_ms" else {})
    pipeline |= {"backoff_ms": value} if name == "max_backoff_ms" else {}
    more = f"path.home: {tmp_path / 'state'}\nlogging.to_stderr: true\n"
    with bench.filebeat_by(settings_file(pipeline, "filebeat.yml", ["why"], "log_pipeline") + more):
        log = tmp_path / "filebeat.log"
        wait_until("its inputs have started", lambda: "starting Inputs completed" in log.read_text(), 20, poll_s=0.02)


def test_entries_over_several_lines_arrive_whole(bench: Bench) -> None:
    entries = [f'{{\n  "request_id":"{number}",\n  "uri":"/{{\\n{number}"\n}}' for number in range(30)]
    half, rest = entries[20][:20], entries[20][20:]
    with Receiver(bench.port) as receiver, bench.filebeat(log_lines="multi"):
        with bench.log.open("a") as log:
            log.write("\n".join([*entries[:20], half]))
            log.flush()
            wait_until("the first entries arrived", lambda: len(receiver.messages) >= 20, 30)
            log.write("\n".join([rest, *entries[21:], ""]))
        wait_for(receiver, entries)


@pytest.mark.parametrize(("flush_min_events", "flush_timeout_ms"), [(1, 0), (2048, 500)])
def test_a_batch_has_no_more_events_than_set(bench: Bench, flush_min_events: int, flush_timeout_ms: int) -> None:
    lines = bench.write(300)
    settings = {"flush_min_events": flush_min_events, "flush_timeout_ms": flush_timeout_ms}
    with Receiver(bench.port) as receiver, bench.filebeat(**settings, bulk_max_size=40):
        wait_for(receiver, lines)

    assert max(len(batch.events) for batch in receiver.batches) == 40


def test_the_queue_waits_for_its_number_of_events_or_its_timeout(bench: Bench) -> None:
    with Receiver(bench.port) as receiver, bench.filebeat(flush_min_events=50, flush_timeout_ms=1500, bulk_max_size=50):
        few = bench.write(5)
        wait_for(receiver, few)
        many = bench.write(50)
        wait_for(receiver, few + many)

    waits_ms = [event["t2"] - read_ms(event) for event in receiver.events]
    assert min(waits_ms[:5]) > 1000
    assert max(waits_ms[5:]) < 1000


@pytest.mark.parametrize(("pipelining", "in_flight"), [(0, 1), (2, 3)])
def test_a_receiver_that_is_late_is_waited_for(bench: Bench, pipelining: int, in_flight: int) -> None:
    with Receiver(bench.port, holds_back=True) as receiver, bench.filebeat(pipelining=pipelining):
        lines = bench.write(10_000)
        wait_until("batches arrived", lambda: len(receiver.batches) >= in_flight, 30)
        time.sleep(2)
        assert len(receiver.batches) == in_flight

        receiver.release()
        wait_for(receiver, lines)


@pytest.mark.long
@pytest.mark.parametrize("pipelining", [0, 2])
def test_nothing_is_lost_while_the_receiver_is_gone_and_resent_events_are_restamped(
    bench: Bench, pipelining: int
) -> None:
    with bench.filebeat(pipelining=pipelining):
        with Receiver(bench.port) as first:
            early = bench.write(30)
            wait_for(first, early)
        late = bench.write(30)
        with Receiver(bench.port, holds_back=True) as deaf:
            wait_until("a batch arrived again", lambda: bool(deaf.batches), 60)
        with Receiver(bench.port) as last:
            wait_for(last, late, 60)

    again = {event["message"]: event["t2"] for event in last.events}
    assert all(event["t2"] < again[event["message"]] for event in deaf.events)


def test_a_log_that_is_renamed_and_recreated_is_read_to_its_end(bench: Bench) -> None:
    rotated = bench.log.with_name("access.log.1")
    with Receiver(bench.port) as receiver:
        with bench.filebeat():
            lines = bench.write(50)
            wait_until("the log is read", lambda: bool(receiver.events), 30)
            bench.log.rename(rotated)
            lines += bench.write(20, rotated) + bench.write(20)
            wait_for(receiver, lines)
            lines += bench.write(5, rotated) + bench.write(20)
            wait_for(receiver, lines)

        rotated.rename(bench.log.with_name("access.log.2"))
        lines += bench.write(20)
        bench.log.rename(rotated)
        lines += bench.write(20)
        with bench.filebeat():
            wait_for(receiver, lines)


def test_a_log_that_is_cut_off_is_read_from_its_beginning(bench: Bench) -> None:
    with Receiver(bench.port) as receiver, bench.filebeat():
        lines = bench.write(50)
        wait_for(receiver, lines)
        with bench.log.open("r+") as log:
            log.truncate()
        lines += bench.write(20)
        wait_for(receiver, lines)


@pytest.mark.long
def test_a_log_that_was_closed_is_opened_again_by_the_next_scan(bench: Bench) -> None:
    with Receiver(bench.port) as receiver, bench.filebeat(close_inactive_s=1, scan_frequency_ms=2000):
        lines = bench.write(5)
        wait_for(receiver, lines)
        time.sleep(2)
        lines += bench.write(5)
        wait_for(receiver, lines)
