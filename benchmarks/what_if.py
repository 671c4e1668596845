"""Compare an audit's predictions with what producers then store: `python -m benchmarks.what_if`.

Producers of Kafka's client or of librdkafka send records of five kinds, with and without keys, from one and from four
producers, at a fixed rate with random arrivals: once with the present settings, then with others. The audit reads the
topic of the first and predicts the rest. Each case is appended to the CSV when it ends; the same command adds the
missing ones.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from random import Random
from typing import Annotated

import pandas as pd
import typer
from confluent_kafka import Producer

from benchmarks.on_cluster import DATA, clear_errors
from kafka_pareto.audit.estimates import Prediction, predicted
from kafka_pareto.audit.reading import Limits, Sample, Topic, TopicReader
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.errors import BadInputError, LoadToolError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import load_settings

FILE = DATA / "what_if.csv"
RECORDS, RECORDS_S, PARTITIONS, KEYS = 12_000, 2_000, 6, 2_000
PRESENT: Mapping[str, PropertyValue] = {"linger.ms": 5}
OTHERS: Sequence[dict[str, PropertyValue]] = (
    {"linger.ms": 60, "compression.type": "zstd"},
    {"linger.ms": 20, "batch.size": 65536, "compression.type": "lz4"},
    {"linger.ms": 100, "batch.size": 262144, "compression.type": "gzip"},
)
_CLIENTS = ("java", "librdkafka")
_WARMUP_S = 1.0
_PAGES = ("/", "/login", "/search?q=shoes", "/cart", "/api/v2/orders", "/static/app.js")
_AGENTS = ("Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "okhttp/4.12.0", "Mozilla/5.0 (iPhone; CPU OS 19_1)")
_LIMITS = Limits(records=2 * RECORDS, bytes=64 << 20, seconds=30.0)


@dataclass(frozen=True)
class Case:
    """Holds a case: client, brokers, producers, and the kind of their records."""

    client: str
    brokers: int
    producers: int
    kind: str
    has_keys: bool


@dataclass(frozen=True)
class Outcome:
    """Holds a prediction, and what was then stored.

    Attributes:
        fault: Why nothing was predicted; else empty.
        recognized: The client, as the audit inferred it.
        inferred_linger_ms: The present value, likewise.
        present_bytes: Stored per record with the present settings; the other sizes are for `settings`.
    """

    client: str
    brokers: int
    producers: int
    kind: str
    has_keys: bool
    settings: str
    fault: str
    recognized: str
    inferred_linger_ms: int | None
    present_bytes: float
    predicted_bytes: float | None
    low_bytes: float | None
    high_bytes: float | None
    stored_bytes: float
    predicted_depth: float | None
    stored_depth: float
    started_at: str
    load_1m: float


def main(
    brokers: Annotated[int, typer.Option(help="brokers, and replicas", min=1, max=3)] = 1,
    client: Annotated[str, typer.Option(help="java or librdkafka")] = "java",
    file: Annotated[Path, typer.Option(help="the CSV to add to")] = FILE,
    only_table: Annotated[bool, typer.Option("--table", help="measure nothing; print what the CSV says")] = False,
) -> None:
    """Measure the missing cases, and print the table."""
    with clear_errors():
        if not only_table:
            _measure(client, brokers, file)
        print("\n".join(report(pd.read_csv(file, keep_default_na=False, na_values=[""]))))


def report(points: pd.DataFrame) -> list[str]:
    """Return the table of errors: of predicted bytes and records per batch, by client, brokers and producers."""
    lines = [
        "| client | brokers | producers | points | recognized | not predicted | bytes within 5 % | largest error | "
        "in the 95 % interval | records per batch within 10 % |",
        "|---" * 10 + "|",
    ]
    for (client, brokers, producers), found in points.groupby(["client", "brokers", "producers"]):
        known = found[found.predicted_bytes.notna()]
        off = (known.predicted_bytes / known.stored_bytes - 1).abs()
        within = ((known.low_bytes <= known.stored_bytes) & (known.stored_bytes <= known.high_bytes)).sum()
        depth = ((known.predicted_depth / known.stored_depth - 1).abs() <= 0.1).sum()
        lines.append(
            f"| {client} | {brokers} | {producers} | {len(found)} | {(found.recognized == client).sum()} | "
            f"{len(found) - len(known)} | "
            f"{(off <= 0.05).sum()} of {len(known)} | {off.max() * 100:.1f} % | {within} of {len(known)} | "
            f"{depth} of {len(known)} |"
        )
    return lines


def _measure(client: str, brokers: int, file: Path) -> None:
    missing = _missing(client, brokers, file)
    if not missing:
        return
    settings = load_settings()
    with (
        Brokers(brokers, settings, jmx_configuration=None, gc_log=False) as running,
        Cluster(running.bootstrap_servers, None, settings) as cluster,
        LoadGenerator(running.bootstrap_servers, None, settings, has_brokers=True, keeps_jvm=True) as tool,
        tempfile.TemporaryDirectory(prefix="kafka-pareto-what-if-") as folder,
    ):
        sample = Path(folder) / "records.jsonl"

        def send(topic: str, producers: int, properties: Mapping[str, PropertyValue]) -> None:
            cluster.create_topic(topic, PARTITIONS, brokers)
            if client == "librdkafka":
                _send_by_librdkafka(running.bootstrap_servers, topic, producers, properties, sample)
                return
            found = tool.run(_load(topic, producers, properties, sample))
            if found.records_sent != found.records_attempted:
                raise LoadToolError(f"{topic}: {found.errors}")

        sample.write_text("".join(sample_lines("json", has_keys=False)), encoding="utf-8")
        for number in range(3):  # brokers and JVM warm up
            send(f"warm-up-{number}", 1, PRESENT)
        for number, case in enumerate(missing):
            started_at = datetime.now(UTC).isoformat(timespec="seconds")
            sample.write_text("".join(sample_lines(case.kind, has_keys=case.has_keys)), encoding="utf-8")
            topics = [f"case-{number}-{place}" for place in range(1 + len(OTHERS))]
            for topic, properties in zip(topics, (PRESENT, *OTHERS), strict=True):
                send(topic, case.producers, properties)
            reader = TopicReader(running.bootstrap_servers, None, topics, _LIMITS, OTHERS, settings)
            samples = [each.sample for each in reader if isinstance(each, Topic) and each.sample is not None]
            outcomes = list(_outcomes(case, samples, started_at))
            pd.DataFrame(map(asdict, outcomes)).to_csv(file, mode="a", header=not file.exists(), index=False)
            for topic in topics:
                cluster.delete_topic(topic)
            off = [f"{each.predicted_bytes / each.stored_bytes - 1:+.1%}" for each in outcomes if each.predicted_bytes]
            print(f"{number + 1} of {len(missing)}: {case}: {', '.join(off) or outcomes[0].fault}", flush=True)


def _missing(client: str, brokers: int, file: Path) -> list[Case]:
    if client not in _CLIENTS:
        raise BadInputError(f"client: {client}: must be one of {', '.join(_CLIENTS)}")
    cases = [
        Case(client, brokers, producers, kind, has_keys)
        for kind, producers, has_keys in product(KINDS, (1, 4), (False, True))
    ]
    columns = ["client", "brokers", "producers", "kind", "has_keys"]
    known = pd.read_csv(file)[columns].itertuples(index=False) if file.exists() else ()
    done = {Case(*each) for each in known}
    return [each for each in cases if each not in done]


def at_the_rate(warmup_s: float) -> TimedLoad:
    """Return the times of a load that sends all records at the fixed rate, after a warm-up."""
    return TimedLoad(
        warmup_s=0.0,
        seconds=0.0,
        paced_warmup_s=warmup_s,
        paced_seconds=RECORDS / RECORDS_S,
        paced_rate_records_s=float(RECORDS_S),
    )


def _load(topic: str, producers: int, properties: Mapping[str, PropertyValue], sample: Path) -> LoadRequest:
    return LoadRequest(
        topic=topic,
        record_size_bytes=1,
        properties=properties,
        timeout_s=120.0,
        timed=at_the_rate(_WARMUP_S),
        payload_file=sample,
        producers=producers,
        is_sampled=True,
        arrival="poisson",
    )


def _send_by_librdkafka(
    bootstrap_servers: str, topic: str, producers: int, properties: Mapping[str, PropertyValue], sample: Path
) -> None:
    """Send the sample in turn from several producers, with exponential inter-arrival times."""
    records = [json.loads(line) for line in sample.read_text(encoding="utf-8").splitlines()]
    values = [base64.b64decode(each["value_base64"]) for each in records]
    settings = {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, **properties}
    clients = [Producer(settings) for _ in range(producers)]
    random, due_s = Random(topic), time.monotonic() + _WARMUP_S  # noqa: S311
    for number, (record, value) in enumerate(zip(records, values, strict=True)):
        due_s += random.expovariate(RECORDS_S)
        time.sleep(max(due_s - time.monotonic(), 0))
        clients[number % producers].produce(topic, value, record.get("key"))
        clients[number % producers].poll(0)
    left = sum(each.flush(30) for each in clients)
    if left:
        raise LoadToolError(f"{topic}: {left} records were not acknowledged")


def _outcomes(case: Case, samples: Sequence[Sample], started_at: str) -> Iterator[Outcome]:
    present, *others = samples
    prediction: Prediction = predicted(present, OTHERS)
    linger = prediction.present.get("linger.ms")
    for place, (settings, stored) in enumerate(zip(OTHERS, others, strict=True)):
        point = prediction.points[place] if prediction.points else None
        now = present.stored_bytes / present.records
        low, high = (point.stored_ratio.low, point.stored_ratio.high) if point else (None, None)
        yield Outcome(
            **asdict(case),
            settings=" ".join(f"{name}={value}" for name, value in settings.items()),
            fault=prediction.fault,
            recognized=prediction.client,
            inferred_linger_ms=None if linger is None else int(linger),
            present_bytes=now,
            predicted_bytes=point.bytes_per_record if point else None,
            low_bytes=None if low is None else now * low,
            high_bytes=None if high is None else now * high,
            stored_bytes=stored.stored_bytes / stored.records,
            predicted_depth=point.records_per_batch if point else None,
            stored_depth=stored.records / stored.batches,
            started_at=started_at,
            load_1m=round(os.getloadavg()[0], 1),
        )


def sample_lines(kind: str, *, has_keys: bool) -> Iterator[str]:
    """Generate the lines of a sample: the same ones each time."""
    random = Random(f"{kind} {has_keys}")  # noqa: S311
    for number in range(RECORDS):
        line: dict[str, object] = {"timestamp_ms": number}
        if has_keys:
            line["key"] = f"customer-{random.randrange(KEYS)}"
        line["value_base64"] = base64.b64encode(KINDS[kind](random, number)).decode()
        yield json.dumps(line) + "\n"


def _json(random: Random, number: int) -> bytes:
    event = {
        "event_id": random.randbytes(16).hex(),
        "time": 1_764_400_000_000 + number,
        "customer": random.randrange(50_000),
        "type": random.choice(["view", "add_to_cart", "purchase"]),
        "page": random.choice(_PAGES),
        "price": round(random.lognormvariate(3, 1), 2),
        "currency": "EUR",
        "tags": random.sample(["new", "sale", "gift", "bulky", "digital"], random.randrange(4)),
    }
    return json.dumps(event).encode()


def _avro(random: Random, number: int) -> bytes:
    """Return a record in Avro's binary encoding: two longs, a string, an enum, a double's bytes and a string."""
    fields = [
        _varint(_zigzag(1_764_400_000_000 + number)),
        _varint(_zigzag(random.randrange(50_000))),
        _sized(random.randbytes(8).hex().encode(), zigzag=True),
        _varint(_zigzag(random.randrange(3))),
        random.randbytes(2) + bytes(6),
        _sized(random.choice(_PAGES).encode(), zigzag=True),
    ]
    return b"".join(fields)


def _protobuf(random: Random, number: int) -> bytes:
    """Return a message in Protocol Buffers' encoding: varint fields and length-delimited ones, a nested one last."""
    nested = b"\x08" + _varint(random.randrange(100)) + b"\x12" + _sized(random.choice(_PAGES).encode())
    fields = [
        b"\x08" + _varint(1_764_400_000_000 + number),
        b"\x10" + _varint(random.randrange(50_000)),
        b"\x1a" + _sized(random.randbytes(16)),
        b"\x20" + _varint(random.randrange(3)),
        b"\x2a" + _sized(nested),
    ]
    return b"".join(fields)


def _log_line(random: Random, number: int) -> bytes:
    address = ".".join(str(random.randrange(256)) for _ in range(4))
    second = number // RECORDS_S
    return (
        f"{address} - - [29/Nov/2026:12:00:{second:02d} +0000] "
        f'"{random.choice(["GET", "GET", "POST"])} {random.choice(_PAGES)} HTTP/1.1" '
        f'{random.choice([200, 200, 200, 304, 404])} {random.randrange(40_000)} "-" "{random.choice(_AGENTS)}"'
    ).encode()


def _random(random: Random, number: int) -> bytes:  # noqa: ARG001 (like the others)
    return random.randbytes(random.randrange(100, 300))


KINDS: Mapping[str, Callable[[Random, int], bytes]] = {
    "json": _json,
    "avro": _avro,
    "protobuf": _protobuf,
    "log lines": _log_line,
    "random": _random,
}


def _zigzag(value: int) -> int:
    return value * 2  # none is negative


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _sized(content: bytes, *, zigzag: bool = False) -> bytes:
    return _varint(_zigzag(len(content)) if zigzag else len(content)) + content


if __name__ == "__main__":
    typer.run(main)
