"""Compare the throughput of an ingestion by record format: `python -m benchmarks.ingest_forms`.

In each block a file of made-up books is sent as `make ingest` sends it: unchanged, with a line break in each title,
with a key, as JSON and as Avro; by Kafka's own tool, which samples random lines; and as JSON by Miller and kcat,
programs in Go and C. Ours are new processes that send the file twice: cold, from the start of the process, and warm.
Each block is appended to the CSV when it ends.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors, ratio_text
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.common.producer_performance import ProducerPerformance
from kafka_pareto.drivers.ingestion.file_ingestion import DEFAULT_PARTITIONS, PROPERTIES
from kafka_pareto.drivers.ingestion.load import BooksRequest, IngestionLoad, IngestionRequest
from kafka_pareto.drivers.ingestion.sent import kcat_properties
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings

FILE = DATA / "ingest_forms.csv"
ROWS, TIMEOUT_S = 2_000_000, 300.0
UNCHANGED, QUOTED, KEYED, JSON, AVRO, TOOL, MILLER = METHODS = (
    "unchanged",
    "with line breaks",
    "with a key",
    "JSON",
    "Avro",
    "Kafka's tool",
    "JSON by Miller and kcat",
)
_TOOL_ROWS = 200_000  # a tenth of the file, which the tool keeps in its heap
_COMPARED = (("warm", UNCHANGED), ("warm", TOOL), ("cold", MILLER))


@dataclass(frozen=True)
class Sent:
    """The rows that one method sent, and the seconds it took.

    Attributes:
        warm_s: From the first read to the last acknowledgement, once the code is compiled; None for other programs.
        cold_s: The same from the start of the process, which sends its first rows; None if the tool does not say it.
    """

    block: int
    method: str
    rows: int
    warm_s: float | None
    cold_s: float | None


def main(
    blocks: Annotated[int, typer.Option(help="in the CSV at the end", min=3)] = 8,
    file: Annotated[Path, typer.Option(help="the CSV to add to")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure the missing blocks, and print the ratios."""
    with clear_errors():
        if not only_table:
            _measure(blocks, file)
        print("\n".join(report(pd.read_csv(file))))


def report(measured: pd.DataFrame) -> list[str]:
    """Return a row per method: medians, and ratios to others with a 95 % interval over blocks."""
    paces = {
        name: measured.assign(rows_s=measured.rows / measured[f"{name}_s"]).pivot_table(
            index="block", columns="method", values="rows_s"
        )
        for name in ("warm", "cold")
    }
    lines = [
        f"{len(paces['warm'])} blocks, {ROWS:,} rows; rows/s, and ratios to another method",
        "",
        "| values | warm | cold | warm ÷ unchanged | warm ÷ Kafka's tool | cold ÷ Miller and kcat |",
        "|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        medians = [found[method].median() if method in found else None for found in paces.values()]
        cells = [method, *("" if median is None else f"{median:,.0f}" for median in medians)]
        for name, other in _COMPARED:
            found = paces[name]
            known = method != other and method in found and other in found
            cells.append(ratio_text(found[method] / found[other]) if known else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _measure(blocks: int, file: Path) -> None:
    settings = load_settings()
    begun = int(pd.read_csv(file).block.max()) + 1 if file.exists() else 0
    if begun >= blocks:
        return
    if missing := [program for program in ("mlr", "kcat") if shutil.which(program) is None]:
        raise BadInputError(f"command not found: {', '.join(missing)}")
    order = np.random.default_rng(begun)
    with (
        Brokers(1, settings, jmx_configuration=None, gc_log=False) as running,
        Cluster(running.bootstrap_servers, None, settings) as cluster,
        tempfile.TemporaryDirectory(prefix="kafka-pareto-ingest-") as folder,
    ):
        servers = running.bootstrap_servers
        tool = IngestionLoad(servers, None, settings)
        kafkas = ProducerPerformance(servers, None, settings)
        books, few, quoted = (Path(folder) / f"{name}.csv" for name in ("books", "few", "quoted"))
        tool.make_books(BooksRequest(books, ROWS, seed=7, timeout_s=TIMEOUT_S))
        tool.make_books(BooksRequest(few, _TOOL_ROWS, seed=7, timeout_s=TIMEOUT_S))
        _break_lines(books, quoted)
        for block in range(begun - 1, blocks):  # a run's first block does not count: its broker is new
            found = []
            for method in map(str, order.permutation(METHODS)):
                topics = [f"forms-{block + 1}-{METHODS.index(method)}{suffix}" for suffix in ("", "-cold")]
                topics += [f"{topic}.malformed" for topic in topics]
                for topic in topics:
                    cluster.create_topic(topic, 1 if topic.endswith(".malformed") else DEFAULT_PARTITIONS, 1)
                if method == TOOL:
                    found.append(_by_kafkas_tool(kafkas, topics[0], few, block))
                elif method == MILLER:
                    found.append(_by_miller(cluster, servers, topics[0], books, block))
                else:
                    found.append(_by_us(tool, method, topics, quoted if method == QUOTED else books, block))
                for topic in topics:
                    cluster.delete_topic(topic)
            if block >= begun:
                pd.DataFrame(map(asdict, found)).to_csv(file, mode="a", index=False, header=not file.exists())
            print(f"{block + 1} of {blocks}", flush=True)


def _break_lines(books: Path, quoted: Path) -> None:
    """Copy the file with each title in quotes, a line break in it."""
    with books.open(encoding="utf-8", newline="") as lines, quoted.open("w", encoding="utf-8", newline="") as written:
        rows, copy = csv.reader(lines), csv.writer(written, lineterminator="\n")
        copy.writerow(next(rows))
        copy.writerows([*row[:2], row[2].replace(" ", "\n", 1), *row[3:]] for row in rows)


def _by_us(tool: IngestionLoad, method: str, topics: list[str], file: Path, block: int) -> Sent:
    output = tool.follow(
        IngestionRequest(
            file=file,
            topic=topics[0],
            properties=PROPERTIES,
            timeout_s=TIMEOUT_S,
            encoding={JSON: "json", AVRO: "avro"}.get(method, "bytes"),
            path="batches",
            is_resumable=True,
            key="id" if method == KEYED else "",
            warmup_file=file,
            warmup_topic=topics[1],
        )
    )
    if output.failure or output.warmup is None or output.rows_acknowledged != ROWS:
        raise LoadToolError(f"{method}: {output.failure}")
    return Sent(block, method, ROWS, output.elapsed_s, output.warmup.jvm_start_s + output.warmup.elapsed_s)


def _by_kafkas_tool(tool: ProducerPerformance, topic: str, few: Path, block: int) -> Sent:
    result = tool.run(
        LoadRequest(topic, 1, PROPERTIES, TIMEOUT_S, records=2 * ROWS, warmup_records=ROWS, payload_file=few)
    )
    if result.figures is None or result.records_sent != 2 * ROWS:
        raise LoadToolError(result.errors)
    return Sent(block, TOOL, ROWS, ROWS / result.figures.throughput_records_s, None)


def _by_miller(cluster: Cluster, servers: str, topic: str, books: Path, block: int) -> Sent:
    options = [f"-X{name}={value}" for name, value in kcat_properties(PROPERTIES).items()]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    started = time.monotonic()
    with subprocess.Popen(
        ["mlr", "--icsv", "--ojsonl", "cat", str(books)], stdout=subprocess.PIPE, env=environment
    ) as rows:
        kcat = ["kcat", "-q", "-P", "-b", servers, "-t", topic, *options]
        ended = subprocess.run(kcat, stdin=rows.stdout, env=environment, timeout=TIMEOUT_S, check=False)
    elapsed_s = time.monotonic() - started
    if ended.returncode or rows.returncode or cluster.end_offset(topic) != ROWS:
        raise LoadToolError(f"{MILLER}: exit codes {rows.returncode} and {ended.returncode}")
    return Sent(block, MILLER, ROWS, None, elapsed_s)


if __name__ == "__main__":
    typer.run(main)
