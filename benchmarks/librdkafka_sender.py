"""Send a file's lines with librdkafka's Python client, as its users do: `librdkafka_sender.py SERVERS TOPIC FILE`.

Prints the seconds until all records are delivered, and the CPU seconds meanwhile. Imports nothing else, so that neither
contains the start of anything.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

from confluent_kafka import Producer


def send(servers: str, topic: str, file: str) -> tuple[float, float]:
    """Return the seconds and the CPU seconds."""
    lines = Path(file).read_bytes().splitlines()
    producer = Producer({"bootstrap.servers": servers})
    latencies_s: list[float] = []

    def delivered(sent: float, error: object, _: object) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        latencies_s.append(time.monotonic() - sent)

    started, cpu_before = time.monotonic(), time.process_time()
    for line in lines:
        callback = partial(delivered, time.monotonic())
        while True:
            try:
                producer.produce(topic, line, on_delivery=callback)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    producer.flush()
    if len(latencies_s) != len(lines):
        raise RuntimeError(f"{len(latencies_s)} of {len(lines)} records were delivered")
    return time.monotonic() - started, time.process_time() - cpu_before


if __name__ == "__main__":
    print(*send(*sys.argv[1:]))
