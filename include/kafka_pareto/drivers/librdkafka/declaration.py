"""Declare the driver `librdkafka`: the producer's measurements, with librdkafka's settings."""

from __future__ import annotations

from dataclasses import replace

from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.kafka.librdkafka_properties import DEFAULTS
from kafka_pareto.study.declaration import ClientFile

_FILE = "librdkafka.properties"


DRIVER = replace(
    PRODUCER,
    name="librdkafka",
    defaults=DEFAULTS,
    defaults_word="librdkafka's defaults",
    settings_word="settings of librdkafka",
    settings_file=_FILE,
    client_files=(ClientFile(_FILE),),
)
