"""Audit the topics of a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product

from kafka_pareto.audit.estimates import predicted
from kafka_pareto.audit.reading import Limits, Topic, TopicReader, Unread
from kafka_pareto.audit.records import AuditedTopic, AuditReport
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import PropertyValue, typed_value
from kafka_pareto.settings import Settings
from kafka_pareto.study.requests import AuditRequest

PREDICTABLE = (
    "linger.ms",
    "batch.size",
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
)
"""The settings that decide what batches hold and how many bytes they take."""
_BOUNDS = {"linger.ms": (0, 3_600_000), "batch.size": (1, 64 << 20)}
_MOST_COMBINATIONS = 50
_USUAL: tuple[dict[str, PropertyValue], ...] = (
    {"compression.type": "lz4"},
    {"compression.type": "zstd"},
    {"linger.ms": 20, "batch.size": 65536, "compression.type": "zstd"},
    {"linger.ms": 100, "batch.size": 262144, "compression.type": "zstd"},
)


def audit(
    request: AuditRequest, kafka: str, settings: Settings, progress: Callable[[int, int], None] = lambda *_: None
) -> AuditReport:
    """Read the topics' latest batches, and predict other settings; `progress` takes topics read and in all.

    Raises:
        BadInputError: If an option is invalid, or no topic can be read.
        ClusterError: If the cluster cannot be reached.
    """
    what_if = settings_in(request.what_if) if request.what_if else list(_USUAL)
    limits = Limits(records=request.records, bytes=math.ceil(request.read_mib * 2**20), seconds=request.seconds)
    reader = TopicReader(kafka, request.kafka_config, request.topics or (), limits, what_if, settings)
    began = time.monotonic()
    topics: list[AuditedTopic] = []
    unread: list[Unread] = []
    for each in reader:
        if isinstance(each, Topic):
            prediction = predicted(each.sample, what_if) if each.sample else None
            topics.append(AuditedTopic(read=each, prediction=prediction))
        else:
            unread.append(each)
        progress(len(topics) + len(unread), reader.count)
    if unread and not topics:
        raise BadInputError("; ".join(f"topic {each.topic}: {each.error}" for each in unread))
    return AuditReport(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kafka=kafka,
        seconds=time.monotonic() - began,
        topics=tuple(sorted(topics, key=lambda each: -each.saved_bytes_day)),
        unread=tuple(unread),
    )


def settings_in(text: str) -> list[dict[str, PropertyValue]]:
    """Return all combinations of settings such as `linger.ms=5,60 compression.type=zstd`.

    Raises:
        BadInputError: For a setting without a value, of another name, or with a value that Kafka would not take.
    """
    values: dict[str, list[PropertyValue]] = {}
    for word in text.split():
        name, separator, listed = word.partition("=")
        if not separator or not listed:
            raise BadInputError(f"what-if: {word!r}: must be a setting and its values, like linger.ms=5,60")
        if name not in PREDICTABLE:
            raise BadInputError(f"what-if: {name}: must be one of {', '.join(PREDICTABLE)}")
        if name in values:
            raise BadInputError(f"what-if: {name}: must not repeat; give its values with commas between them")
        values[name] = [_checked(name, each) for each in listed.split(",")]
    if not values or math.prod(map(len, values.values())) > _MOST_COMBINATIONS:
        raise BadInputError(f"what-if: {text!r}: must be 1 to {_MOST_COMBINATIONS} combinations of settings")
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]


def _checked(name: str, text: str) -> PropertyValue:
    try:
        value = typed_value(name, text)
    except ValueError as error:
        raise BadInputError(f"what-if: {error}") from error
    if name in _BOUNDS:
        least, most = _BOUNDS[name]
        if not least <= int(value) <= most:
            raise BadInputError(f"what-if: {name}: {value} must be {least} to {most}")
    return value
