"""Record the second grid of the search benchmark: `python -m benchmarks.record_grid`.

The configurations of `grid_8192.csv`, at 1,024 B and on three brokers of its own with replication 3: 1,000 records by
Kafka's own tool, a new JVM for each, in random order within a block. Every repetition is appended to
`grid_1024.partial.csv`, and the same command resumes. The complete recording is renamed to `grid_1024.csv`. Each run,
also a resumed one, warms up the brokers first.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.on_cluster import clear_errors, own_testbed
from benchmarks.strategies.grids import FIRST, SECOND
from benchmarks.strategies.table import BLOCKS
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.attempt import judge
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import Testbed
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.kafka.end_offsets import EndOffsets
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES
from kafka_pareto.settings import load_settings
from kafka_pareto.study.factors import Configuration

CONFIGURATIONS = 360
BROKERS = 3
RECORDS = 1000
WARM_UP_REPETITIONS = 5
ATTEMPTS = 3
PROGRESS_EVERY_S = 15.0
_PROPERTIES = {
    "batch_size_bytes": "batch.size",
    "linger_ms": "linger.ms",
    "acks": "acks",
    "compression_type": "compression.type",
}
_FIGURES = ("latency_avg_ms", "latency_max_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms")
COLUMNS = (
    *("started_at_s", "record_size_bytes", "configuration_id", *_PROPERTIES, "block", "throughput_records_s"),
    *("throughput_mib_s", *_FIGURES, "wall_s", "client_cpu_s", "load_1m", "started_at", "order_in_block", "attempts"),
)
"""Those of the first grid, then when and in which order it was measured, and how many attempts it took."""

Row = dict[str, object]


class Recorder:
    """Measure repetitions of the grid's study on a testbed."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self._study = ProducerStudy.of(SECOND.study())
        self._end_offsets = EndOffsets(testbed.cluster, testbed.topic)
        self._bytes_to_delete = 0

    def warm_up(self) -> None:
        """Measure the baseline a few times and keep nothing: brokers that have just started are slow."""
        for _ in range(WARM_UP_REPETITIONS):
            self.measured(self._study.baseline_configuration())

    def measured(self, configuration: Configuration) -> Row:
        """Return the values of one valid repetition, after as many attempts as it takes.

        Raises:
            LoadToolError: If no attempt was valid.
        """
        reason = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                row, reason = self._attempt(configuration)
            except LoadToolError as error:
                row, reason = None, str(error)
            if row is not None:
                return {**row, "attempts": attempt}
            print(f"attempt {attempt} of {configuration} is not valid: {reason}", file=sys.stderr, flush=True)
        raise LoadToolError(f"{configuration}: none of {ATTEMPTS} attempts was valid; the last: {reason}")

    def _attempt(self, configuration: Configuration) -> tuple[Row | None, str]:
        request = LoadRequest(
            topic=self._testbed.topic,
            record_size_bytes=int(SECOND.case),
            properties=self._study.properties(configuration),
            timeout_s=self._study.protocol.timeout_s,
            records=RECORDS,
        )
        self._end_offsets.begin()
        started_at, load_1m = datetime.now(UTC).isoformat(timespec="milliseconds"), os.getloadavg()[0]
        result = self._testbed.load_tool.run(request)
        outcome, reason = judge(result, self._end_offsets.growth(result.records_sent), request.record_size_bytes)
        self._clean_up(RECORDS * request.record_size_bytes)
        if outcome != "valid" or result.figures is None:
            return None, reason
        figures = asdict(result.figures)
        return {
            "throughput_records_s": figures["throughput_records_s"],
            "throughput_mib_s": figures["printed_mib_s"],
            **{name: figures[name] for name in _FIGURES},
            "wall_s": round(result.wall_s, 3),
            "client_cpu_s": round(result.client_cpu_s, 3),
            "load_1m": load_1m,
            "started_at": started_at,
        }, ""

    def _clean_up(self, sent_bytes: int) -> None:
        self._bytes_to_delete += sent_bytes
        if self._bytes_to_delete > DELETE_RECORDS_AFTER_BYTES:
            self._testbed.cluster.delete_records(self._testbed.topic)
            self._bytes_to_delete = 0


class Progress:
    """Print to stderr how much is measured and how long the rest takes, a line every `PROGRESS_EVERY_S`."""

    def __init__(self, total: int) -> None:
        self._total, self._begun_at, self._printed_at = total, time.monotonic(), 0.0

    def show(self, measured: int, block: int) -> None:
        """Print a line if the last one is old enough, or all is measured."""
        now = time.monotonic()
        if now - self._printed_at < PROGRESS_EVERY_S and measured < self._total:
            return
        self._printed_at, each_s = now, (now - self._begun_at) / measured
        print(
            f"block {block}: {measured:,} of {self._total:,} repetitions of this run, {each_s:.2f} s each, "
            f"{(self._total - measured) * each_s / 60:.1f} minutes left",
            file=sys.stderr,
            flush=True,
        )

    def summary(self, per_block: int) -> str:
        """Return how long a block and all blocks of the grid take at the speed of this run."""
        each_s = (time.monotonic() - self._begun_at) / max(self._total, 1)
        block_minutes = per_block * each_s / 60
        return (
            f"{self._total:,} repetitions, {each_s:.2f} s each: a block of {per_block} takes "
            f"{block_minutes:.1f} minutes, {BLOCKS} blocks take {BLOCKS * block_minutes:.0f}"
        )


def grid_configurations() -> dict[int, Configuration]:
    """Return the first grid's configurations, in its columns, by `configuration_id`, ascending."""
    names = ["configuration_id", *_PROPERTIES]
    rows = pd.read_csv(FIRST.file, dtype={"acks": str}, keep_default_na=False)[names]
    rows = rows.drop_duplicates().sort_values("configuration_id")
    every = rows[list(_PROPERTIES)].astype(object).to_numpy()
    return {
        int(name): dict(zip(_PROPERTIES, values, strict=True))
        for name, values in zip(rows.configuration_id, every, strict=True)
    }


def recording_file(blocks: int, configurations: int | None, file: Path | None) -> Path:
    """Return the CSV to append to: `file`, or by default the grid's unfinished recording.

    Raises:
        BadInputError: If a trial would be appended to the grid's recording, or `--file` names that recording.
    """
    if file is None:
        if blocks != BLOCKS or configurations is not None:
            raise BadInputError(
                "--blocks and --configurations are for trials; add --file with a CSV of the trial's own"
            )
        return SECOND.partial_file
    if file.resolve() in (SECOND.file.resolve(), SECOND.partial_file.resolve()):
        raise BadInputError(f"--file {file}: this is the grid's recording; leave out --file to record the grid")
    return file


def prepare(file: Path) -> None:
    """Remove a last row whose writing was interrupted, and write the header to an empty or new CSV."""
    with file.open("a+b") as opened:
        opened.seek(0)
        whole_bytes = opened.read().rfind(b"\n") + 1
        opened.truncate(whole_bytes)
        if not whole_bytes:
            opened.write(f"{','.join(COLUMNS)}\n".encode())


def planned(ids: Sequence[int], blocks: int, file: Path) -> list[tuple[int, int, int]]:
    """Return block, order in the block and configuration of every repetition that the prepared CSV does not hold."""
    done = set(pd.read_csv(file)[["block", "configuration_id"]].itertuples(index=False, name=None))
    orders = [np.random.default_rng([SECOND.study().seed, block]).permutation(ids) for block in range(blocks)]
    return [
        (block, order, int(name))
        for block, names in enumerate(orders)
        for order, name in enumerate(names)
        if (block, int(name)) not in done
    ]


def append_row(file: Path, row: Row) -> None:
    """Append a row to the prepared CSV and flush it; times count from the CSV's first row."""
    started_at = str(row["started_at"])
    first = next(iter(pd.read_csv(file, usecols=["started_at"], nrows=1).started_at), started_at)
    since_first = pd.Timestamp(started_at) - pd.Timestamp(first)
    with file.open("a", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
        writer.writerow({**row, "started_at_s": round(since_first.total_seconds(), 1)})
        opened.flush()


def main(
    blocks: Annotated[
        int, typer.Option(help="how often each configuration is measured; another number only with --file", min=1)
    ] = BLOCKS,
    configurations: Annotated[
        int | None, typer.Option(help="only so many, to try it; needs --file", min=1, max=CONFIGURATIONS)
    ] = None,
    file: Annotated[Path | None, typer.Option(help="the CSV of a trial; by default the grid's recording")] = None,
) -> None:
    """Measure what the CSV does not hold yet."""
    with clear_errors():
        recording = recording_file(blocks, configurations, file)
        if file is None and SECOND.file.exists():
            print(f"{SECOND.file} is complete", file=sys.stderr)
            return
        prepare(recording)
        grid = grid_configurations()
        chosen = np.linspace(0, len(grid) - 1, configurations or len(grid)).astype(int)
        to_measure = planned([list(grid)[at] for at in chosen], blocks, recording)
        if to_measure:
            _measure(to_measure, grid, recording)
        if file is None:
            recording = recording.rename(SECOND.file)
        print(f"{recording} is complete", file=sys.stderr)


def _measure(to_measure: Sequence[tuple[int, int, int]], grid: dict[int, Configuration], recording: Path) -> None:
    with own_testbed(SECOND.study(), BROKERS, load_settings()) as (_, testbed, _):
        recorder = Recorder(testbed)
        recorder.warm_up()
        progress = Progress(len(to_measure))
        for number, (block, order, name) in enumerate(to_measure, 1):
            values = grid[name]
            found = recorder.measured({prop: values[column] for column, prop in _PROPERTIES.items()})
            row: Row = {"record_size_bytes": int(SECOND.case), "configuration_id": name, "block": block}
            append_row(recording, {**row, **values, **found, "order_in_block": order})
            progress.show(number, block)
        print(progress.summary(len(grid)), file=sys.stderr)


if __name__ == "__main__":
    typer.run(main)
