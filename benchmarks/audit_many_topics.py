"""Time an audit of many topics: `python -m benchmarks.audit_many_topics`.

A broker holds topics of JSON events of about 1 KiB, sent at random times. The audit reads each topic whole, under its
usual time limit.
"""

from __future__ import annotations

import json
import time
from random import Random
from typing import Annotated

import typer
from confluent_kafka import Producer

from benchmarks.on_cluster import clear_errors
from kafka_pareto.audit.audit import audit
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.settings import load_settings
from kafka_pareto.study.requests import AuditRequest

_MIB = 1 << 20
_EVENT_BYTES = 1024
_PARTITIONS = 3


def main(
    topics: Annotated[int, typer.Option(help="topics", min=1)] = 200,
    mib: Annotated[float, typer.Option(help="MiB to read in all", min=1)] = 256,
) -> None:
    """Fill the topics, audit them, and print the time."""
    with clear_errors():
        _run(topics, max(int(mib * _MIB / topics / _EVENT_BYTES), 1), mib)


def _run(topics: int, records: int, mib: float) -> None:
    settings = load_settings()
    names = [f"audited.{number:04d}" for number in range(topics)]
    with Brokers(1, settings, jmx_configuration=None, gc_log=False) as running:
        with Cluster(running.bootstrap_servers, None, settings) as cluster:
            for name in names:
                cluster.create_topic(name, _PARTITIONS, 1)
        _fill(running.bootstrap_servers, names, records)
        request = AuditRequest(records=records, read_mib=2 * mib / topics)
        began = time.monotonic()
        report = audit(request, running.bootstrap_servers, settings)
        seconds = time.monotonic() - began
    read = sum(each.read.read_bytes for each in report.topics) / _MIB
    predicted = sum(each.prediction is not None and not each.prediction.fault for each in report.topics)
    print(f"{len(report.topics)} topics, {read:.0f} MiB read, {predicted} predicted, in {seconds:.0f} s")


def _fill(servers: str, topics: list[str], records: int) -> None:
    random = Random(5)  # noqa: S311 (no secret)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, "enable.idempotence": True})
    now_ms = int(time.time() * 1000)
    for name in topics:
        at_ms = float(now_ms - 3_600_000)
        for number in range(records):
            at_ms += random.expovariate(1.0)
            text = random.randbytes(440).hex()
            event = {"id": number, "at": int(at_ms), "user": random.randrange(10_000), "text": text}
            while True:
                try:
                    producer.produce(name, json.dumps(event).encode(), timestamp=int(at_ms))
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    if left := producer.flush(120):
        raise ClusterError(f"{left:,} records were not stored")


if __name__ == "__main__":
    typer.run(main)
