"""The studies of the driver `librdkafka`: those of the producer, with librdkafka's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from kafka_pareto.drivers.librdkafka.declaration import DRIVER
from kafka_pareto.drivers.producer.compare import CompareProducer, settings_with
from kafka_pareto.drivers.producer.tune import TuneProducer
from kafka_pareto.kafka.client_rules import ClientName
from kafka_pareto.kafka.librdkafka_properties import LIBRDKAFKA
from kafka_pareto.kafka.producer_settings import ProducerSettings
from kafka_pareto.study.declaration import Driver
from kafka_pareto.study.setting import Setting


class TuneLibrdkafka(TuneProducer):
    """Tunes librdkafka's producer. Factors and baseline are its settings, under Java's names where it accepts them.

    A case is a record size; constraints may use it as `record.size`. `durability` is the weakest guarantee to
    recommend, by default the baseline's.
    """

    declaration: ClassVar[Driver] = DRIVER
    known: ClassVar[ProducerSettings] = LIBRDKAFKA
    baseline_client: ClassVar[ClientName | None] = "librdkafka"

    driver: Literal["librdkafka"] = "librdkafka"  # type: ignore[assignment]


class CompareLibrdkafka(CompareProducer):
    """Compares settings of librdkafka's producer, or its versions.

    A `protocol` without a `kind`, and its `paced`, override only the keys they name.

    For its levels, see `docs/comparisons.md`.
    """

    declaration: ClassVar[Driver] = DRIVER
    known: ClassVar[ProducerSettings] = LIBRDKAFKA
    baseline_client: ClassVar[ClientName | None] = "librdkafka"
    fixed_settings: ClassVar[Mapping[str, Setting]] = settings_with(LIBRDKAFKA)

    driver: Literal["librdkafka"] = "librdkafka"  # type: ignore[assignment]


STUDIES = {"tune": TuneLibrdkafka, "compare": CompareLibrdkafka}
