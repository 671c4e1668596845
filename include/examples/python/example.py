"""Sends 1,000 records with the active settings: `python example.py FILE SERVERS TOPIC`."""

import sys
from pathlib import Path

from confluent_kafka import KafkaException, Producer

file, servers, topic = sys.argv[1:]

lines = Path(file).read_text(encoding="utf-8").splitlines()
settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def delivered(error, _record):
    if error is not None:
        raise KafkaException(error)


producer = Producer({**settings, "bootstrap.servers": servers})
for _ in range(1000):
    producer.produce(topic, bytes(100), on_delivery=delivered)
if rest := producer.flush():  # raises what `delivered` does
    sys.exit(f"{rest} records were not sent")
