"""Verify after a rollout which producers of a topic use the new settings, by their batches. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from kafka_pareto.audit.audit import BOUNDS, PREDICTABLE
from kafka_pareto.audit.reading import Client, Limits, Producer, Replay, Sample, Topic, TopicReader
from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import PropertyValue, is_idempotent, resolved
from kafka_pareto.settings import Settings
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.requests import VerifyRequest

Use = Literal["in use", "not in use", "inconclusive", "stopped"]

BATCH_SETTINGS = frozenset({"batch.size", "linger.ms"})
"""The settings that decide how many records a batch has."""

_MOST_OFF = 0.2
_FEWEST_BATCHES = 10
_SHORTEST_SILENCE_S = 10.0
_SILENT_FOR_BATCHES = 10
_WORST_FIRST: tuple[Use, ...] = ("not in use", "inconclusive", "in use", "stopped")


class VerifiedProducer(Frozen):
    """One producer's batches, and whether they are what the settings would send.

    Attributes:
        id: None for all producers without idempotence, which send no ID.
        expected_records_per_batch: The same records sent with the settings; None if the batches do not show when
            they were sent, or are too few.
        reasons: What contradicts the settings, or why the batches are inconclusive.
        silent_s: How long before the newest record its last one was sent.
    """

    id: int | None
    epoch: int | None
    use: Use
    reasons: tuple[str, ...]
    codecs: tuple[str, ...]
    records: int
    batches: int
    records_per_batch: float
    expected_records_per_batch: float | None
    silent_s: float


class UseAtTime(Frozen):
    """Use of the settings by a topic's producers at one time.

    Attributes:
        until_ms: Time of the last record, in milliseconds since 1970.
        records_s: Records per second, by their times; None if they have one time.
        producers: Their numbers by use of the settings.
        records_per_batch: Of producers whose expected number is known; None without one.
        expected_records_per_batch: The same records sent with the settings.
    """

    until_ms: int
    use: Use
    producers: dict[Use, int]
    codecs: tuple[str, ...]
    records_s: float | None
    records_per_batch: float | None
    expected_records_per_batch: float | None


class Verification(Record):
    """The producers of a topic's latest records, those without the settings first.

    Attributes:
        at: Time of the report, in UTC.
        settings: Where the settings are from.
        use: The worst of all producers that have not stopped.
        seconds: The time that the records span.
        more_producers: Producers beyond the hundred that sent last; they are not judged.
        history: Samples in order of time, the last one the latest; empty if not requested.
    """

    at: str
    kafka: str
    topic: str
    settings: str
    use: Use
    records: int
    seconds: float
    producers: tuple[VerifiedProducer, ...]
    more_producers: int
    history: tuple[UseAtTime, ...] = ()


@dataclass(frozen=True)
class Rollout:
    """The settings that producers should use.

    Attributes:
        source: Where they are from.
        previous: The settings before the rollout, to recognize producers that still use them; None if unknown.
        not_compared: Settings whose values are unknown, because the clients' defaults differ from Java's.
        why_unpredicted: Why no records per batch are predicted; empty if they are.
        client: The producers' client; librdkafka does not compress batches that would not shrink.
    """

    source: str
    expected: Mapping[str, PropertyValue]
    previous: Mapping[str, PropertyValue] | None = None
    not_compared: frozenset[str] = field(default_factory=frozenset)
    why_unpredicted: str = ""
    client: Client = "java"


def verify(request: VerifyRequest, kafka: str, rollout: Rollout, settings: Settings) -> Verification:
    """Read batches of the topic on the cluster at `kafka` (`host:port,…`), and judge each producer.

    Raises:
        BadInputError: If the topic cannot be read, or has no records.
        ClusterError: If the cluster cannot be reached.
    """
    what_if = [_predictable(each) for each in (rollout.expected, rollout.previous) if each is not None]
    reader = TopicReader(
        kafka, request.kafka_config, [request.topic], Limits.of(request), what_if, settings, history=request.history
    )
    found = []
    for read in reader:
        if not isinstance(read, Topic):
            raise BadInputError(f"topic {request.topic}: {read.error}")
        found.append(read)
    latest = verified(found[-1], kafka, rollout)
    if request.history == 1:
        return latest
    return latest.model_copy(
        update={"history": tuple(use_at_time(each, each.sample, rollout) for each in found if each.sample)}
    )


def verified(topic: Topic, kafka: str, rollout: Rollout) -> Verification:
    """Judge each producer of a topic read with the expected and, if known, the previous settings as what-ifs.

    Raises:
        BadInputError: If the topic has no records.
    """
    sample = topic.sample
    if sample is None:
        raise BadInputError(f"topic {topic.topic}: has no records, so there is nothing to verify")
    producers, use = _all_judged(topic, sample, rollout)
    return Verification(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kafka=kafka,
        topic=topic.topic,
        settings=rollout.source,
        use=use,
        records=sample.records,
        seconds=_seconds(sample),
        producers=producers,
        more_producers=sample.producer_count - len(producers),
    )


def _all_judged(topic: Topic, sample: Sample, rollout: Rollout) -> tuple[tuple[VerifiedProducer, ...], Use]:
    """Return the producers, the worst first, and the use by all of them."""
    judged = [_judged(each, topic, sample, rollout) for each in sample.producers]
    producers = tuple(sorted(judged, key=lambda each: (_WORST_FIRST.index(each.use), -each.records)))
    use = producers[0].use
    is_uncertain = use == "stopped" or (use == "in use" and sample.producer_count > len(producers))
    return producers, "inconclusive" if is_uncertain else use


def use_at_time(topic: Topic, sample: Sample, rollout: Rollout) -> UseAtTime:
    """Judge the producers of a sample, as `verified` does, and summarize them."""
    producers, use = _all_judged(topic, sample, rollout)
    known = [(each, each.expected_records_per_batch) for each in producers if each.expected_records_per_batch]
    records = sum(each.records for each, _ in known)
    return UseAtTime(
        until_ms=sample.last_ms,
        use=use,
        producers=dict(Counter(each.use for each in producers)),
        codecs=tuple(sorted(sample.codecs)),
        records_s=sample.records / _seconds(sample) if _seconds(sample) else None,
        records_per_batch=records / sum(each.batches for each, _ in known) if known else None,
        expected_records_per_batch=records / sum(each.records / expected for each, expected in known)
        if known
        else None,
    )


def _predictable(properties: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    """Return what decides on batches, within the audit's bounds; a level only of the codec in use."""
    found = resolved(properties)
    for name, (least, most) in BOUNDS.items():
        found[name] = min(max(int(found[name]), least), most)
    level = f"compression.{found['compression.type']}.level"
    return {name: found[name] for name in PREDICTABLE if not name.endswith(".level") or name == level}


def _judged(producer: Producer, topic: Topic, sample: Sample, rollout: Rollout) -> VerifiedProducer:
    silent_s = (sample.last_ms - producer.last_ms) / 1000
    expected, previous = _records_per_batch(producer, sample.replay, rollout)
    contradictions, doubts = _of_codec_and_idempotence(producer, topic, sample, rollout)
    found = producer.records / producer.batches
    if expected is None:
        if not (rollout.why_unpredicted and _previous_would_show(topic, rollout)):
            doubts.append(rollout.why_unpredicted or sample.replay.fault or f"fewer than {_FEWEST_BATCHES} batches")
    elif _alike(found, expected):
        if (
            previous is not None
            and _alike(found, previous)
            and not contradictions
            and not _previous_would_show(topic, rollout)
        ):
            doubts.append("at this rate the previous settings would send the same batches")
    else:
        text = f"{found:.1f} records per batch instead of {expected:.1f}"
        if previous is not None and _alike(found, previous):
            contradictions.append(f"{text}, as with the previous settings")
        elif found < expected:
            doubts.append(f"{text}; the application may call flush() or wait for each record")
        else:
            doubts.append(f"{text}; brokers may answer more slowly than linger.ms")
    use: Use = "not in use" if contradictions else "inconclusive" if doubts else "in use"
    interval_s = (producer.last_ms - sample.first_ms) / 1000 / producer.batches
    if not sample.replay.has_event_times and silent_s > max(_SHORTEST_SILENCE_S, _SILENT_FOR_BATCHES * interval_s):
        use = "stopped"
    return VerifiedProducer(
        id=producer.id,
        epoch=producer.epoch,
        use=use,
        reasons=(*contradictions, *doubts),
        codecs=producer.codecs,
        records=producer.records,
        batches=producer.batches,
        records_per_batch=found,
        expected_records_per_batch=expected,
        silent_s=silent_s,
    )


def _of_codec_and_idempotence(
    producer: Producer, topic: Topic, sample: Sample, rollout: Rollout
) -> tuple[list[str], list[str]]:
    """Return what contradicts the expected codec and idempotence, and what is doubtful."""
    contradictions, doubts = [], []
    codec = str(resolved(rollout.expected)["compression.type"])
    others = [each for each in producer.codecs if each != codec]
    if topic.compression_type is None:
        doubts.append("without DescribeConfigs on the topic it is unknown whether the broker recompresses")
    elif others == ["none"] and codec in producer.codecs:
        doubts.append("some batches are not compressed")  # librdkafka sends what does not shrink uncompressed
    elif others and topic.compression_type == "producer":
        if others == ["none"] and rollout.client == "librdkafka" and not _shrinks(sample, codec):
            doubts.append("batches are not compressed; librdkafka does not compress those that would not shrink")
        else:
            contradictions.append(f"codec {', '.join(others)} instead of {codec}")
    if "enable.idempotence" not in rollout.not_compared:
        wanted, is_ = is_idempotent(rollout.expected), producer.id is not None
        if wanted and not is_:
            contradictions.append("not idempotent")
        if is_ and not wanted:
            contradictions.append("idempotent, unlike the settings")
    return contradictions, doubts


def _shrinks(sample: Sample, codec: str) -> bool:
    """Return whether the sampled batches are one producer's and shrink with the codec; False if it was not tried."""
    tried = [each for each in sample.trials if each.codec == codec and not each.batch_bytes]
    return sample.producer_count == 1 and any(each.bytes < each.uncompressed_bytes for each in tried)


def _previous_would_show(topic: Topic, rollout: Rollout) -> bool:
    """Return whether the previous settings have another codec or idempotence, which batches would show."""
    if rollout.previous is None:
        return False
    visible = ["compression.type"] if topic.compression_type == "producer" else []
    visible += [name for name in ("enable.idempotence",) if name not in rollout.not_compared]
    now, before = resolved(rollout.expected), resolved(rollout.previous)
    return any(now[name] != before[name] for name in visible)


def _records_per_batch(producer: Producer, replay: Replay, rollout: Rollout) -> tuple[float | None, float | None]:
    """Return those of the expected settings, and of the previous ones; None if unknown."""
    if rollout.why_unpredicted or producer.batches < _FEWEST_BATCHES or producer.id not in replay.producers:
        return None, None
    place = replay.producers.index(producer.id)
    found = [producer.records / each.batches_of_producers[place] for each in replay.sent[1:]]
    return found[0], found[1] if len(found) > 1 else None


def _alike(one: float, other: float) -> bool:
    return abs(one / other - 1) <= _MOST_OFF


def _seconds(sample: Sample) -> float:
    return (sample.last_ms - sample.first_ms) / 1000
