"""Count ingestions that survive a broker that hangs and dies: `python -m benchmarks.hanging_broker`.

Three brokers, three replicas. In each round a few ingestions send the same file to a topic each, as `make ingest` does.
The leader of a partition stops (SIGSTOP), is killed (SIGKILL) and starts again: in half of the rounds it dies before
another leader is elected, in the other half after that. Every topic is read back and compared with the file.

The brokers stay up from one round to the next, a dead leader is replaced after two seconds instead of nine, and JVMs
are those of the tests, which start sooner. Each run is appended to the CSV. The same command adds to it until it holds
as many as asked for.
"""

from __future__ import annotations

import csv
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.ingestion.load import BooksRequest, CheckRequest, IngestionLoad, IngestionRequest
from kafka_pareto.drivers.ingestion.output import RowsFound
from kafka_pareto.errors import ClusterError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import Settings, load_settings
from tests.quick_java import use_quick_java

FILE = DATA / "hanging_broker.csv"
BROKERS = {
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 500,
    # Leadership returns to the restarted broker while rows are still being sent.
    "leader.imbalance.check.interval.seconds": 1,
    "leader.imbalance.per.broker.percentage": 0,
}
_PARTITIONS, _REPLICAS = 6, 3
_BATCH_BYTES = (65_536, 524_288)  # several batches of a partition in flight, or one; the second is make ingest's
_BUFFER_BYTES = 16 << 20
_SHORT_HANG_S, _LONG_HANG_S, _MOST_DEAD_S = (0.2, 1.2), (3.0, 5.0), 1.0
_TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Run:
    """One ingestion and what came of it.

    Attributes:
        retries: Batches that were sent again.
        resumptions: How often it took rows for lost and read the ends of the partitions again.
    """

    started_at: str
    batch_bytes: int
    hang_s: float
    dead_s: float
    ended_after_s: float
    failure: str
    retries: int
    resumptions: int
    rows: int
    rows_in_topic: int
    is_equal: bool
    load_1m: float


@dataclass(frozen=True)
class Bench:
    """Holds brokers, and the file that every ingestion sends."""

    brokers: Brokers
    cluster: Cluster
    tool: IngestionLoad
    file: Path
    held: RowsFound
    most_mib_s: float

    def run_round(self, at_once: int, rng: np.random.Generator) -> list[Run]:
        """Send this many files at a time; meanwhile a broker hangs, dies and comes back."""
        topics = [f"rows-{rng.integers(1 << 40):010x}" for _ in range(at_once)]
        for topic in topics:
            self.cluster.create_topic(topic, _PARTITIONS, _REPLICAS)
            self.cluster.create_topic(f"{topic}.malformed", 1, _REPLICAS)
        hang_s = float(rng.uniform(*(_SHORT_HANG_S, _LONG_HANG_S)[int(rng.integers(2))]))
        dead_s = float(rng.uniform(0, _MOST_DEAD_S))
        with ThreadPoolExecutor(at_once) as threads:
            sending = [
                threads.submit(self._send, each, int(rng.choice(_BATCH_BYTES)), hang_s, dead_s) for each in topics
            ]
            _wait(lambda: all(self.cluster.end_offset(each) for each in topics) or any(each.done() for each in sending))
            time.sleep(float(rng.uniform(0, 1)))
            leader = self.cluster.topic_health(topics[0]).leaders[0]
            victim = next(name for name, node in self.brokers.nodes.items() if node.number == leader)
            self.brokers.pause(victim)
            time.sleep(hang_s)
            self.brokers.kill(victim)
            time.sleep(dead_s)
            self.brokers.restart(victim)
            runs = [each.result() for each in sending]
        for topic in topics:
            self.cluster.delete_topic(topic)
            self.cluster.delete_topic(f"{topic}.malformed")
        return runs

    def _send(self, topic: str, batch_bytes: int, hang_s: float, dead_s: float) -> Run:
        started_at, began_s = datetime.now(UTC).isoformat(), time.monotonic()
        failure, retries, resumptions = "", 0, 0
        properties: dict[str, PropertyValue] = {
            "batch.size": batch_bytes,
            "buffer.memory": _BUFFER_BYTES,
            "compression.type": "lz4",
        }
        request = IngestionRequest(
            self.file, topic, properties, _TIMEOUT_S, path="batches", is_resumable=True, most_mib_s=self.most_mib_s
        )
        try:
            output = self.tool.follow(request)
            failure, resumptions = output.failure or "", output.resumptions
            retries = int(sum(sink.retries for sink in output.sinks))
        except LoadToolError as error:
            failure = str(error)
        ended_after_s = time.monotonic() - began_s
        found = self.tool.check(CheckRequest(_TIMEOUT_S, topic=topic)).topic
        return Run(
            started_at=started_at,
            batch_bytes=batch_bytes,
            hang_s=round(hang_s, 2),
            dead_s=round(dead_s, 2),
            ended_after_s=round(ended_after_s, 1),
            failure=failure,
            retries=retries,
            resumptions=resumptions,
            rows=self.held.rows,
            rows_in_topic=found.rows if found else 0,
            is_equal=found is not None and (found.rows, found.hash) == (self.held.rows, self.held.hash),
            load_1m=round(os.getloadavg()[0], 1),
        )


def _wait(is_so: Callable[[], bool], timeout_s: float = _TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            raise ClusterError(f"no row arrived within {timeout_s:g} s")
        time.sleep(0.05)


@contextmanager
def open_bench(rows: int, most_mib_s: float, settings: Settings) -> Iterator[Bench]:
    """Start three brokers and make the file."""
    with (
        tempfile.TemporaryDirectory(prefix="kafka-pareto-hanging-broker-") as folder,
        Brokers(3, settings, properties=BROKERS, jmx_configuration=None, gc_log=False) as brokers,
        Cluster(brokers.bootstrap_servers, None, settings) as cluster,
    ):
        tool, file = IngestionLoad(brokers.bootstrap_servers, None, settings), Path(folder) / "books.csv"
        tool.make_books(BooksRequest(file, rows, seed=1, timeout_s=_TIMEOUT_S))
        held = tool.check(CheckRequest(_TIMEOUT_S, file=file)).file
        if held is None:
            raise RuntimeError("the check of a file says nothing of it")
        yield Bench(brokers, cluster, tool, file, held, most_mib_s)


def read_runs(file: Path) -> pd.DataFrame:
    """Return the recorded runs; an empty table if there are none."""
    if not file.exists():
        return pd.DataFrame(columns=[each.name for each in fields(Run)])
    return pd.read_csv(file, keep_default_na=False)


def append_runs(file: Path, runs: list[Run]) -> None:
    """Append runs to the CSV, with its header if it is new."""
    is_new = not file.exists()
    with file.open("a", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, [each.name for each in fields(Run)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(asdict(run) for run in runs)


def report(runs: pd.DataFrame) -> list[str]:
    """Return a line for each kind of hang: run, how many ended by themselves, and rows lost or twice."""
    lines = []
    for name, kind in (
        ("before", runs[runs.hang_s < _LONG_HANG_S[0]]),
        ("after", runs[runs.hang_s >= _LONG_HANG_S[0]]),
    ):
        lines.append(
            f"dies {name} another leader is elected: {len(kind)} runs, {int((kind.failure == '').sum())} ended by "
            f"themselves, {int(kind.is_equal.sum())} with every row once; {int((kind.retries > 0).sum())} sent "
            f"batches again, {int((kind.resumptions > 0).sum())} resumed"
        )
    return lines


def main(
    runs: Annotated[int, typer.Option(help="how many the CSV is to hold")] = 200,
    minutes: Annotated[float, typer.Option(help="begin no round after so long")] = 60.0,
    at_once: Annotated[int, typer.Option(help="ingestions in each round")] = 4,
    rows: Annotated[int, typer.Option(help="rows of the file; about 90 bytes each")] = 200_000,
    most_mib_s: Annotated[float, typer.Option(help="what each ingestion reads of the file at most")] = 2.5,
    seed: Annotated[int, typer.Option(help="of hangs and batch sizes; each round has its own from it")] = 1,
    file: Annotated[Path, typer.Option(help="the CSV of all runs")] = FILE,
    table: Annotated[bool, typer.Option("--table", help="send nothing, print what the CSV says")] = False,
) -> None:
    """Add runs to the CSV until it holds enough, and print what became of them."""
    with clear_errors():
        until = time.monotonic() + 60 * minutes
        missing = 0 if table else runs - len(read_runs(file))
        if missing > 0:
            use_quick_java()
            with open_bench(rows, most_mib_s, load_settings()) as bench:
                while missing > 0 and time.monotonic() < until:
                    found = bench.run_round(min(at_once, missing), np.random.default_rng([seed, runs - missing]))
                    append_runs(file, found)
                    missing -= len(found)
                    print(f"{missing} runs to go; the last ones: {[each.failure or each.is_equal for each in found]}")
        print("\n".join(report(read_runs(file))))


if __name__ == "__main__":
    typer.run(main)
