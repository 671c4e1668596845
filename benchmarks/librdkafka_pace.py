"""Compare the pace of librdkafka in the load generator with its pace elsewhere: `python -m benchmarks.librdkafka_pace`.

In each block records of the same size are sent unthrottled by the load generator, by a loop of the Python client (the
same library) with a delivery callback, and by kcat, a program in C (with the system's library; less the time of a run
with one record). The gap to the fastest is the generator's overhead. Each block is appended to the CSV when it ends.
"""

from __future__ import annotations

import resource
import subprocess
import sys
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
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.errors import LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings

FILE = DATA / "librdkafka_pace.csv"
OURS, PYTHON, KCAT = SENDERS = ("generator", "Python", "kcat")
RECORD_BYTES, RECORDS, SECONDS = 1024, 400_000, 4.0
_DIFFERENT = 8_000  # more bytes than a batch
_PROGRAM = Path(__file__).with_name("librdkafka_sender.py")


@dataclass(frozen=True)
class Pace:
    """Records sent by one program in its measured seconds; all it sent, and the CPU seconds for them."""

    block: int
    sender: str
    records: int
    seconds: float
    sent_in_all: int
    cpu_s: float


def main(
    blocks: Annotated[int, typer.Option(help="in the CSV at the end", min=3)] = 12,
    file: Annotated[Path, typer.Option(help="the CSV to add to")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure the missing blocks, and print the ratios."""
    with clear_errors():
        if not only_table:
            _measure(blocks, file)
        print("\n".join(report(pd.read_csv(file))))


def report(measured: pd.DataFrame) -> list[str]:
    """Return a row per program: its medians, and the generator's ratio to it with a 95 % interval over blocks."""
    measured = measured.assign(
        records_s=measured.records / measured.seconds, us=1e6 * measured.cpu_s / measured.sent_in_all
    )
    by_block = {
        name: measured.pivot_table(index="block", columns="sender", values=name) for name in ("records_s", "us")
    }
    lines = [
        f"{len(by_block['us'])} blocks, records of {RECORD_BYTES:,} B",
        "",
        "| sender | records/s | generator ÷ this | CPU, µs a record | generator ÷ this |",
        "|---|---|---|---|---|",
    ]
    for sender in SENDERS:
        cells = [sender]
        for name, form in (("records_s", ",.0f"), ("us", ".2f")):
            found = by_block[name]
            cells += [
                format(found[sender].median(), form),
                ratio_text(found[OURS] / found[sender]) if sender != OURS else "",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _measure(blocks: int, file: Path) -> None:
    settings = load_settings()
    begun = int(pd.read_csv(file).block.max()) + 1 if file.exists() else 0
    order = np.random.default_rng(begun)
    with (
        Brokers(1, settings, jmx_configuration=None, gc_log=False) as running,
        Cluster(running.bootstrap_servers, None, settings) as cluster,
        LoadGenerator(running.bootstrap_servers, None, settings, keeps_jvm=True) as tool,
        tempfile.TemporaryDirectory(prefix="kafka-pareto-pace-") as folder,
    ):
        text, one_line = Path(folder) / "records.txt", Path(folder) / "record.txt"
        letters = order.integers(ord("A"), ord("Z") + 1, (_DIFFERENT, RECORD_BYTES + 1), dtype=np.uint8)
        letters[:, -1] = ord("\n")
        one_line.write_bytes(letters[0].tobytes())
        with text.open("wb") as out:
            for _ in range(RECORDS // _DIFFERENT):
                out.write(letters.tobytes())
        for block in range(begun - 1, blocks):  # a run's first block does not count: its broker is new
            found = []
            for sender in order.permutation(SENDERS):
                topic = f"pace-{block + 1}-{sender}"
                cluster.create_topic(topic, 3, 1)
                found.append(_sent(str(sender), max(block, 0), running.bootstrap_servers, topic, tool, text, one_line))
                cluster.delete_topic(topic)
            if block >= begun:
                pd.DataFrame(map(asdict, found)).to_csv(file, mode="a", index=False, header=not file.exists())
            print(f"{block + 1} of {blocks}", flush=True)


def _sent(sender: str, block: int, servers: str, topic: str, tool: LoadGenerator, text: Path, one_line: Path) -> Pace:
    if sender == OURS:
        timed = TimedLoad(
            warmup_s=1.0, seconds=SECONDS, paced_warmup_s=0.0, paced_seconds=0.0, paced_rate_records_s=1.0
        )
        result = tool.run(LoadRequest(topic, RECORD_BYTES, {}, 120.0, timed=timed, client="librdkafka"))
        if result.figures is None or result.unthrottled_s is None:
            raise LoadToolError(result.errors)
        records = round(result.figures.throughput_records_s * result.unthrottled_s)
        return Pace(block, sender, records, result.unthrottled_s, result.records_sent, result.client_cpu_s)
    if sender == PYTHON:
        argv = [sys.executable, str(_PROGRAM), servers, topic, str(text)]
        printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        seconds, cpu_s = map(float, printed.split())
        return Pace(block, sender, RECORDS, seconds, RECORDS, cpu_s)
    start_s, start_cpu_s = _by_kcat(servers, topic, one_line)
    seconds, cpu_s = _by_kcat(servers, topic, text)
    return Pace(block, sender, RECORDS - 1, seconds - start_s, RECORDS - 1, cpu_s - start_cpu_s)


def _by_kcat(servers: str, topic: str, lines: Path) -> tuple[float, float]:
    """Return the seconds and the CPU seconds of a run of kcat."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["kcat", "-P", "-b", servers, "-t", topic, "-l", str(lines)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    typer.run(main)
