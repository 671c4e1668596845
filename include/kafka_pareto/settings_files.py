"""Settings as the files that producers read, and the trials as a table.

Names of librdkafka's settings: its CONFIGURATION.md; of Spring Boot's: its application properties, `spring.kafka`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import yaml

from kafka_pareto.cards import property_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.producer_properties import PropertyValue
from kafka_pareto.seen import Seen

Form = Literal["producer.properties", "application.yaml", "librdkafka.properties"]

# Those that Spring Boot has a key of its own for; the others go below `properties`.
_SPRING_KEYS = {
    "acks": "acks",
    "batch.size": "batch-size",
    "buffer.memory": "buffer-memory",
    "compression.type": "compression-type",
    "retries": "retries",
}

_LIBRDKAFKA_NAMES = {
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_NOT_IN_LIBRDKAFKA = {
    "max.block.ms": "its produce call returns at once when the queue is full",
    "partitioner.adaptive.partitioning.enable": "its partitioner does not adapt",
    "partitioner.availability.timeout.ms": "its partitioner does not adapt",
    "partitioner.ignore.keys": "choose a `partitioner` instead",
}
# Java's 0 or -1 turns something off, or leaves it to the system; librdkafka says so by its least value.
_LEAST_IN_LIBRDKAFKA = {
    "batch.size": 1,
    "connections.max.idle.ms": 0,
    "receive.buffer.bytes": 0,
    "retry.backoff.max.ms": 1,
    "retry.backoff.ms": 1,
    "send.buffer.bytes": 0,
}
_BYTES_IN_A_KBYTE = 1024


def settings_text(seen: Seen, configuration_id: str, form: Form) -> str:
    """The file, with what is known of the configuration in its first lines.

    The recommended `producer.properties` is not made anew: it is the report's.

    Raises:
        BadInputError: If the configuration was not measured at this record size.
    """
    decision, keys = seen.decision, seen.campaign.keys
    report = keys.report(f"{seen.record_size_bytes}/producer.properties")
    recommended = decision is not None and configuration_id == decision.recommended_configuration_id
    if form == "producer.properties" and recommended and report in seen.written:
        return seen.campaign.store.get(report).decode()
    row = _measured_row(seen, configuration_id)
    properties = seen.study.producer_properties({name: row[name] for name in seen.study.factors})
    header = [
        f"Kafka producer settings for records of {seen.record_size_bytes} B.",
        f"Study {keys.study}, campaign {keys.campaign}, configuration {configuration_id}, {row['durability']}.",
        _standing(seen, configuration_id),
    ]
    return settings_file(properties, form, header)


def settings_file(properties: Mapping[str, PropertyValue], form: Form, header: Sequence[str]) -> str:
    """The properties as the file, below these lines as comments."""
    write = {
        "producer.properties": _java,
        "application.yaml": _spring,
        "librdkafka.properties": _librdkafka,
    }[form]
    return "".join(f"# {' '.join(line.split())}\n" for line in header) + write(properties)


def trials_csv(seen: Seen) -> str:
    """All trials of the record size, those of the design and its rounds and those of the choice blocks."""
    tables = {"design": seen.trials, "choice": seen.confirmed}
    frames = [frame.assign(phase=phase) for phase, frame in tables.items() if len(frame)]
    if not frames:
        return "phase,record_size_bytes,configuration_id\n"
    joined = pd.concat(frames, ignore_index=True)
    joined["repetition_ids"] = joined.repetition_ids.map(" ".join)
    text: str = joined[["phase", *(name for name in joined.columns if name != "phase")]].to_csv(index=False)
    return text


def _measured_row(seen: Seen, configuration_id: str) -> dict[str, Any]:
    for table in (seen.confirmed, seen.trials):
        rows = table[(table.configuration_id == configuration_id) & (table.repetitions_valid > 0)]
        if len(rows):
            return {str(name): value for name, value in rows.to_dict("records")[0].items()}
    raise BadInputError(f"{configuration_id} was not measured at {seen.record_size_bytes} B")


def _standing(seen: Seen, configuration_id: str) -> str:
    decision = seen.decision
    if configuration_id == seen.study.baseline_id():
        return "These are the settings in use."
    if decision and decision.recommended_configuration_id == configuration_id:
        return "This is what the campaign recommends."
    if configuration_id in set(seen.confirmed.configuration_id):
        return "Confirmed, but not what the campaign recommends: no gain was stated for it."
    return "Measured in the design only, not confirmed: measure it again before you use it."


def _java(properties: Mapping[str, PropertyValue]) -> str:
    return "".join(f"{name}={property_text(properties[name])}\n" for name in sorted(properties))


def _spring(properties: Mapping[str, PropertyValue]) -> str:
    producer: dict[str, Any] = {_SPRING_KEYS[name]: properties[name] for name in _SPRING_KEYS if name in properties}
    if others := {name: properties[name] for name in sorted(properties) if name not in _SPRING_KEYS}:
        producer["properties"] = others
    text: str = yaml.safe_dump({"spring": {"kafka": {"producer": producer}}}, sort_keys=False)
    return text


def _librdkafka(properties: Mapping[str, PropertyValue]) -> str:
    """Its own names and units; what it lacks is said in a comment."""
    lines = ["# Measured with Java's producer; librdkafka fills its batches in its own way: measure there, too."]
    for name in sorted(properties):
        value = properties[name]
        if reason := _NOT_IN_LIBRDKAFKA.get(name):
            lines.append(f"# {name}={property_text(value)} has no counterpart: {reason}.")
        elif name == "buffer.memory":
            lines.append(f"# {name}={value} in KiB; queue.buffering.max.messages bounds the same queue by number.")
            lines.append(f"queue.buffering.max.kbytes={max(int(value) // _BYTES_IN_A_KBYTE, 1)}")
        elif name.startswith("compression.") and name.endswith(".level"):
            if name == f"compression.{properties.get('compression.type')}.level":
                lines.append(f"compression.level={value}")
            else:
                lines.append(f"# {name}={value} has no counterpart: there is one level, of the codec in use.")
        else:
            if name in _LEAST_IN_LIBRDKAFKA:
                value = max(int(value), _LEAST_IN_LIBRDKAFKA[name])
            lines.append(f"{_LIBRDKAFKA_NAMES.get(name, name)}={property_text(value)}")
    return "\n".join(lines) + "\n"
