"""Rank codecs with own, sampled and synthetic records: `python -m benchmarks.codec_ranking`.

For each kind of records of `benchmarks.what_if`, a producer fills a topic. The sample of its audit is sent to a second,
text of the mean record size that zlib compresses as well to a third. All three are audited. Writes the CSV anew.
"""

from __future__ import annotations

import base64
import json
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.on_cluster import DATA, clear_errors
from benchmarks.what_if import KINDS, PRESENT, at_the_rate, sample_lines
from kafka_pareto.audit.audit import audit
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.payload import payload_lines
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.requests import AuditRequest
from kafka_pareto.study.sampled_records import mean_record_bytes
from kafka_pareto.study.workload import CompressiblePayload

FILE = DATA / "codec_ranking.csv"
SOURCES = ("own", "sampled", "synthetic")
_BATCH_BYTES = 65_536
_TRIED_BYTES = 16_384
_FRACTIONS = (0.05, 0.7)


@dataclass(frozen=True)
class Compressed:
    """The part of the size that a codec leaves of a source's records, in batches of 64 KiB, and its CPU time."""

    kind: str
    source: str
    codec: str
    remaining: float
    cpu_ns_per_byte: float


def main(
    file: Annotated[Path, typer.Option(help="the CSV to write")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure all kinds, and print the rankings."""
    with clear_errors():
        if not only_table:
            pd.DataFrame(map(asdict, _measured())).to_csv(file, index=False, float_format="%.4g")
        print("\n".join(report(pd.read_csv(file, keep_default_na=False))))


def report(measured: pd.DataFrame) -> list[str]:
    """Return a row per kind: the codecs of each source by remaining size, best first."""
    lines = ["| records | own | sampled and sent again | synthetic text |", "|---|---|---|---|"]
    for kind, of_kind in measured.groupby("kind", sort=False):
        cells = []
        for source in SOURCES:
            found = of_kind[of_kind.source == source].sort_values("remaining")
            cells.append(", ".join(f"{each.codec} {each.remaining:.2f}" for each in found.itertuples()))
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return lines


def _measured() -> Iterator[Compressed]:
    settings = load_settings()
    with (
        Brokers(1, settings, jmx_configuration=None, gc_log=False) as running,
        Cluster(running.bootstrap_servers, None, settings) as cluster,
        LoadGenerator(running.bootstrap_servers, None, settings, has_brokers=True, keeps_jvm=True) as tool,
        tempfile.TemporaryDirectory(prefix="kafka-pareto-codecs-") as name,
    ):
        folder = Path(name)
        for number, kind in enumerate(KINDS):
            topics = {source: f"{source}-{number}" for source in SOURCES}
            for topic in topics.values():
                cluster.create_topic(topic, 6, 1)
            lines = folder / "lines.jsonl"
            lines.write_text("".join(sample_lines(kind, has_keys=False)), encoding="utf-8")
            tool.run(_load(topics["own"], lines, is_sampled=True))
            asked = AuditRequest(topics=[topics["own"]], study_folder=folder / "studies", consent=True)
            study = audit(asked, running.bootstrap_servers, settings).study
            if study is None:
                raise BadInputError(f"{kind}: no study was written")
            tool.run(_load(topics["sampled"], Path(study).with_suffix(".jsonl"), is_sampled=True))
            text = folder / "text.txt"
            text.write_text(_synthetic(lines), encoding="utf-8")
            tool.run(_load(topics["synthetic"], text, is_sampled=False))
            yield from _trials(kind, topics, running.bootstrap_servers, settings)
            print(f"{number + 1} of {len(KINDS)}: {kind}", flush=True)


def _load(topic: str, file: Path, *, is_sampled: bool) -> LoadRequest:
    timed = at_the_rate(warmup_s=0.0)
    size = 1 if is_sampled else len(file.read_text(encoding="utf-8").split("\n", 1)[0])
    return LoadRequest(topic, size, PRESENT, 120.0, timed=timed, payload_file=file, is_sampled=is_sampled)


def _synthetic(lines: Path) -> str:
    """Return text lines of the mean record size that zlib compresses as the records, as far as text can."""
    text = lines.read_text(encoding="utf-8")
    values = b"".join(base64.b64decode(json.loads(each)["value_base64"]) for each in text.splitlines())
    fraction = len(zlib.compress(values[:_TRIED_BYTES])) / _TRIED_BYTES
    payload = CompressiblePayload(compressed_fraction=min(max(fraction, _FRACTIONS[0]), _FRACTIONS[1]))
    return "\n".join(payload_lines(payload, mean_record_bytes(text), None, np.random.default_rng(0))) + "\n"


def _trials(kind: str, topics: dict[str, str], bootstrap_servers: str, settings: Settings) -> Iterator[Compressed]:
    report = audit(AuditRequest(topics=list(topics.values())), bootstrap_servers, settings)
    samples = {each.read.topic: each.read.sample for each in report.topics}
    for source, topic in topics.items():
        found = samples[topic]
        for each in found.trials if found else ():
            if each.batch_bytes == _BATCH_BYTES:
                remaining = each.bytes / each.uncompressed_bytes
                yield Compressed(kind, source, each.codec, remaining, each.cpu_ns_per_byte)


if __name__ == "__main__":
    typer.run(main)
