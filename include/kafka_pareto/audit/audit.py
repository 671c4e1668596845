"""Audit the topics of a cluster."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

from kafka_pareto.audit.estimates import Prices, month_cost_of_daily_byte, predicted
from kafka_pareto.audit.reading import Limits, Topic, TopicReader, Unread
from kafka_pareto.audit.records import AuditedTopic, AuditReport
from kafka_pareto.audit.traffic_study import TrafficStudy
from kafka_pareto.errors import BadInputError, ConsentError
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
BOUNDS = {"linger.ms": (0, 3_600_000), "batch.size": (1, 64 << 20)}
_MOST_COMBINATIONS = 50
_USUAL: tuple[dict[str, PropertyValue], ...] = (
    {"compression.type": "lz4"},
    {"compression.type": "zstd"},
    {"linger.ms": 20, "batch.size": 65536, "compression.type": "zstd"},
    {"linger.ms": 100, "batch.size": 262144, "compression.type": "zstd"},
)


def audit(
    request: AuditRequest,
    kafka: str,
    settings: Settings,
    progress: Callable[[int, int], None] = lambda *_: None,
    longest_s: float = math.inf,
) -> AuditReport:
    """Read the topics' latest batches, and predict other settings.

    With a folder for a study, the topic's sampled records are kept there.

    Args:
        request: What to read and predict.
        kafka: `host:port,…`
        settings: Those of the installation.
        progress: Takes the number of topics read, and of all.
        longest_s: Seconds after which the remaining topics are not read.

    Raises:
        BadInputError: If an option is invalid, or no topic can be read.
        ConsentError: If records would be kept without consent.
        ClusterError: If the cluster cannot be reached.
    """
    what_if = settings_in(request.what_if) if request.what_if else list(_USUAL)
    if request.study_folder is None:
        return _audited(request, kafka, settings, what_if, progress, longest_s)
    study = TrafficStudy(request.study_folder, _only_topic(request))
    with study.files():
        report = _audited(request, kafka, settings, what_if, progress, longest_s, study.sample)
        study.write(report.topics[0], kafka, report.at)
    return report.model_copy(update={"study": str(study.file)})


def _only_topic(request: AuditRequest) -> str:
    topics = request.topics or []
    if len(topics) != 1:
        raise BadInputError("STUDY_FOLDER: needs exactly one topic; name it with TOPICS")
    if not request.consent:
        raise ConsentError(
            f"a study would keep records of topic {topics[0]} in {request.study_folder}, and each of its campaigns and "
            "checks a copy in its store; if you may do that, add CONSENT=yes"
        )
    return topics[0]


def _audited(
    request: AuditRequest,
    kafka: str,
    settings: Settings,
    what_if: Sequence[dict[str, PropertyValue]],
    progress: Callable[[int, int], None],
    longest_s: float,
    sample_file: Path | None = None,
) -> AuditReport:
    limits = Limits.of(request)
    reader = TopicReader(kafka, request.kafka_config, request.topics or (), limits, what_if, settings, sample_file)
    prices = _prices(request)
    began = time.monotonic()
    topics: list[AuditedTopic] = []
    unread: list[Unread] = []
    for number, each in enumerate(reader, start=1):
        if isinstance(each, Topic):
            prediction = predicted(each.sample, what_if) if each.sample else None
            cost = month_cost_of_daily_byte(each, prices) if prices else None
            topics.append(AuditedTopic(read=each, prediction=prediction, month_cost_of_daily_byte=cost))
        else:
            unread.append(each)
        progress(number, len(reader.topics))
        if time.monotonic() - began > longest_s:
            too_late = f"the time limit of {longest_s:g} s was reached"
            unread += [Unread(topic=name, error=too_late) for name in reader.topics[number:]]
            break
    if unread and not topics:
        raise BadInputError("; ".join(f"topic {each.topic}: {each.error}" for each in unread))
    return AuditReport(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kafka=kafka,
        seconds=time.monotonic() - began,
        topics=tuple(sorted(topics, key=lambda each: -each.saved_bytes_day)),
        unread=tuple(unread),
        prices=prices,
    )


def _prices(request: AuditRequest) -> Prices | None:
    if request.storage_price is None and request.transfer_price is None:
        return None
    return Prices(stored_gib_month=request.storage_price or 0.0, between_zones_gib=request.transfer_price or 0.0)


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
    if name in BOUNDS:
        least, most = BOUNDS[name]
        if not least <= int(value) <= most:
            raise BadInputError(f"what-if: {name}: {value} must be {least} to {most}")
    return value
