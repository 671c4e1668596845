"""Inject the causes of limits and symptoms, and report which are found: `python -m benchmarks.planted_causes`.

Each cause is injected separately, on this program's brokers, during a short load. Needs root and an otherwise idle
machine. Writes the counts to `data/planted_causes.jsonl`, which `benchmarks.planted_table` evaluates.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.on_cluster import DATA, clear_errors
from benchmarks.planted import CAUSES, Cause, Follower
from benchmarks.plants import limited_link, slow_disk
from kafka_pareto.bottleneck.broker_metrics import BROKER_METRICS
from kafka_pareto.bottleneck.host_counters import HostCounters
from kafka_pareto.bottleneck.limiting_resource import LoadSetting, Verdict, verdict_on
from kafka_pareto.brokers.brokers import Brokers
from kafka_pareto.campaign.records import TimedLoad
from kafka_pareto.doctor.diagnosis import Diagnosis, diagnoses
from kafka_pareto.drivers.common.load_tool import LoadRequest
from kafka_pareto.drivers.consumer.attempt import quantities_of as consumers_quantities
from kafka_pareto.drivers.consumer.load import ConsumerLoad, ConsumerRequest, LiveLoad
from kafka_pareto.drivers.producer.attempt import quantities_of as producers_quantities
from kafka_pareto.drivers.producer.client_bottleneck import expected_window
from kafka_pareto.drivers.producer.load_generator import LoadGenerator
from kafka_pareto.drivers.producer.payload import payload_lines
from kafka_pareto.errors import BadInputError, KafkaParetoError
from kafka_pareto.kafka import consumer_properties, known_properties
from kafka_pareto.kafka.cluster import Cluster
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.measurement.fingerprint import usable_cores
from kafka_pareto.settings import load_settings
from kafka_pareto.study.quantity import Value
from kafka_pareto.study.workload import CompressiblePayload

RECORDS = DATA / "planted_causes.jsonl"
REPETITIONS = 2
_TIMEOUT_S, _PARTITIONS = 60.0, 6
_WARMUP_S, _SECONDS = 3.0, 3.0
_RECORD_BYTES = 1024
# A small buffer, so that no long wait follows the load until it is empty.
_PRODUCER: dict[str, PropertyValue] = {
    "acks": 1, "batch.size": 65536, "linger.ms": 5, "compression.type": "lz4", "buffer.memory": 4 << 20,
    "enable.idempotence": False,
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """Holds what was counted while a cause was there: the records of tables in benchmarks/tables.md.

    Attributes:
        cause: Its name in `benchmarks.planted`.
        settings: The settings of client and topic.
        rate_limit_records_s: The load generator's rate limit.
        values: The repetition's quantities; those without a value are missing.
    """

    cause: str
    settings: Mapping[str, PropertyValue]
    rate_limit_records_s: float | None
    values: Mapping[str, Value]

    @property
    def is_of_consumers(self) -> bool:
        """Return whether a consumer was measured, of which no limit is named."""
        return "group_size" in self.values

    def verdict(self) -> Verdict:
        """Return the limit that today's rules find."""
        properties = {name: value for name, value in self.settings.items() if name in known_properties.DEFAULTS}
        return verdict_on(self.values, LoadSetting(_RECORD_BYTES, properties, self.rate_limit_records_s))

    def diagnoses(self) -> list[Diagnosis]:
        """Return what today's rules find to explain this load alone."""
        measured = {name: [value] for name, value in self.values.items()}
        if not self.is_of_consumers:
            measured["limited_by"] = [self.verdict().code]
        return diagnoses(measured, self.settings)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="causes to make; all where none is named")] = None,
    repetitions: int = REPETITIONS,
    records: Annotated[Path, typer.Option(help="where the records are written")] = RECORDS,
) -> None:
    """Make the causes, and print for each load what is found; records of other causes are kept."""
    with clear_errors():
        chosen = [cause for cause in CAUSES if not names or cause.name in names]
        if unknown := set(names or ()) - {cause.name for cause in chosen}:
            raise BadInputError(f"{', '.join(sorted(unknown))}: is no cause; there are {_names(CAUSES)}")
        made = {cause.name for cause in chosen}
        kept = [each for each in read_planted(records) if each.cause not in made]
        records.write_text("".join(f"{json.dumps(asdict(each))}\n" for each in kept))
        for causes in together(chosen):
            try:
                for planted in planted_loads(causes, repetitions):
                    with records.open("a", encoding="utf-8") as file:
                        file.write(f"{json.dumps(asdict(planted))}\n")
                    found = [[cause.code for cause in each.causes] for each in planted.diagnoses()]
                    print(f"{time.strftime('%X')} {planted.cause}: {planted.verdict().code or 'none found'}, {found}")
            except (OSError, KafkaParetoError) as error:
                print(f"{_names(causes)}: cannot be made here: {error}")


def together(causes: Sequence[Cause]) -> list[list[Cause]]:
    """Group the causes that are made on the same brokers."""
    found: dict[tuple[object, ...], list[Cause]] = {}
    for cause in causes:
        found.setdefault(cause.cluster, []).append(cause)
    return list(found.values())


def read_planted(records: Path = RECORDS) -> list[Planted]:
    """Read the kept records; there are none where the file is missing."""
    if not records.exists():
        return []
    return [Planted(**json.loads(line)) for line in records.read_text(encoding="utf-8").splitlines()]


def planted_loads(causes: Sequence[Cause], repetitions: int = 1) -> Iterator[Planted]:
    """Start the brokers that these causes have in common, make each, and yield what was counted of each load.

    Raises:
        OSError: If this machine does not allow to make it.
        KafkaParetoError: If brokers or load generator fail.
    """
    settings, first = load_settings(), causes[0]
    with ExitStack() as opened:
        if first.link_mbit_s is not None:
            opened.enter_context(limited_link(first.link_mbit_s))
        folder = opened.enter_context(slow_disk(first.disk_mib_s)) if first.disk_mib_s is not None else None
        brokers = opened.enter_context(
            Brokers(
                first.brokers,
                settings,
                properties=first.broker,
                heap_mib=first.heap_mib,
                folder=folder,
                jmx_configuration=BROKER_METRICS,
            )
        )
        cluster = opened.enter_context(Cluster(brokers.bootstrap_servers, None, settings))
        for cause, repetition in product(causes, range(repetitions)):
            topic = f"{cause.name}-{repetition}"
            cluster.create_topic(topic, cause.follower.partitions if cause.follower else _PARTITIONS, cause.brokers)
            with cause.spoil(brokers):
                yield (
                    _followed(cause, cause.follower, topic, brokers) if cause.follower else _sent(cause, topic, brokers)
                )


def _sent(cause: Cause, topic: str, brokers: Brokers) -> Planted:
    properties = {**_PRODUCER, **cause.producer}
    paced_s = _SECONDS if cause.paced_records_s else 0.0
    timed = TimedLoad(
        warmup_s=_WARMUP_S,
        seconds=_SECONDS,
        paced_warmup_s=paced_s / 6,
        paced_seconds=paced_s,
        paced_rate_records_s=cause.paced_records_s,
    )
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as payload:
        payload.write("\n".join(_text()) + "\n")
        payload.flush()
        request = LoadRequest(
            topic,
            _RECORD_BYTES,
            properties,
            _TIMEOUT_S,
            timed=timed,
            throughput_records_s=cause.rate_records_s,
            payload_file=Path(payload.name),
        )
        tool = LoadGenerator(brokers.bootstrap_servers, None, brokers.settings, has_brokers=True)
        with tool, HostCounters(expected_window(request), brokers) as watched:
            result = tool.run(request)
    found = producers_quantities(request, result, None, usable_cores(), watched, cause.brokers)
    settings = {**known_properties.DEFAULTS, **properties, "partitions": _PARTITIONS}
    return Planted(cause.name, settings, cause.rate_records_s, _known(found.values()))


def _followed(cause: Cause, follower: Follower, topic: str, brokers: Brokers) -> Planted:
    request = ConsumerRequest(
        topic=topic,
        group=f"planted-{secrets.token_hex(4)}",
        properties=follower.properties,
        timeout_s=_TIMEOUT_S,
        warmup_s=_WARMUP_S,
        poll_pause_ms=follower.poll_pause_ms,
        live=LiveLoad(_RECORD_BYTES, follower.rate_records_s, _SECONDS, _PRODUCER, unread_s=0.5),
    )
    result = ConsumerLoad(brokers.bootstrap_servers, None, brokers.settings).run(request)
    settings = {
        **consumer_properties.DEFAULTS, **follower.properties, "consumers": 1, "partitions": follower.partitions,
    }  # fmt: skip
    found = consumers_quantities([result], consumers=1)
    return Planted(cause.name, settings, None, _known(found.values()))


def _text() -> list[str]:
    return payload_lines(CompressiblePayload(compressed_fraction=0.3), _RECORD_BYTES, None, np.random.default_rng(1))


def _known(values: Mapping[str, Value]) -> dict[str, Any]:
    return {
        name: float(f"{value:.6g}") if isinstance(value, float) else value
        for name, value in values.items()
        if value is not None
    }


def _names(causes: Sequence[Cause]) -> str:
    return ", ".join(cause.name for cause in causes)


if __name__ == "__main__":
    typer.run(main)
