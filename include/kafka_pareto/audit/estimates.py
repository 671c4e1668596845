"""Estimate what other settings would store, from a topic's sampled batches and from the same records sent again."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kafka_pareto.analysis.student import student_critical
from kafka_pareto.audit.reading import Client, Replay, Sample, Sent, SentBatch, Topic
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.storage.record import Frozen

_BLOCKS = 20
_CONFIDENCE = 0.95
_MOST_BYTES_OFF = 0.05
_MOST_DEPTH_OFF = 0.2
_DAY_MS = 24 * 3600 * 1000
_DAYS_OF_MONTH = 30.4
_PRODUCERS_IN_OTHER_ZONES = 2 / 3
_GIB = 1 << 30


class Estimate(Frozen):
    """A value with its 95 % interval over the sampled time; without one if the sample is too short."""

    value: float
    low: float | None = None
    high: float | None = None


class Point(Frozen):
    """Bytes and batches under other settings, computed from the sample.

    Attributes:
        settings: Those that differ from the present ones.
        stored_ratio: Stored bytes relative to the present.
        saved_bytes_day: Per day and replica; None if the records per day are unknown.
    """

    settings: dict[str, PropertyValue]
    bytes_per_record: float
    records_per_batch: float
    requests_per_record: float
    stored_ratio: Estimate
    saved_bytes_day: Estimate | None


class Prices(Frozen):
    """Prices in any currency: per GiB stored for a month, and per GiB sent between availability zones."""

    stored_gib_month: float = 0.0
    between_zones_gib: float = 0.0


class Prediction(Frozen):
    """Results for other settings.

    Attributes:
        fault: Why nothing can be predicted; else empty.
        client: The client whose way of filling batches explains the stored ones best.
        present: The present settings, as far as the batches tell.
        points: One for each set of settings; empty with a fault.
    """

    fault: str
    client: Client = "java"
    present: dict[str, PropertyValue]
    points: tuple[Point, ...] = ()


def predicted(sample: Sample, what_if: Sequence[dict[str, PropertyValue]]) -> Prediction:
    """Return what each set of settings would store, or why no prediction is possible."""
    replay = sample.replay
    fault = replay.fault or _misfit(replay)
    if fault:
        return Prediction(fault=fault, client=replay.client, present=replay.settings)
    present, *others = replay.sent
    points = [_point(sample, present, sent, changed) for sent, changed in zip(others, what_if, strict=True)]
    return Prediction(fault="", client=replay.client, present=replay.settings, points=tuple(points))


def month_cost_of_daily_byte(topic: Topic, prices: Prices) -> float | None:
    """Return the cost per month of one more byte a day in a topic's batches; None if storage has no known limit.

    Each replica stores it for the topic's retention. With three zones and leaders spread over them, it is sent to
    another zone for each follower, and by two of three producers. Consumers are not counted.
    """
    stored_days = 0.0
    if prices.stored_gib_month:
        if topic.retention_ms is None or topic.retention_ms < 0:
            return None
        stored_days = topic.retention_ms / _DAY_MS
    sent_between_zones = _DAYS_OF_MONTH * (topic.replicas - 1 + _PRODUCERS_IN_OTHER_ZONES)
    stored = stored_days * topic.replicas
    return (stored * prices.stored_gib_month + sent_between_zones * prices.between_zones_gib) / _GIB


def _misfit(replay: Replay) -> str:
    """Return by how much the replay of the present settings misses the stored batches; empty if by little."""
    again = replay.sent[0].batches
    bytes_off = _bytes(again) / _bytes(replay.stored) - 1
    depth_off = len(replay.stored) / len(again) - 1  # of the same records
    if abs(bytes_off) <= _MOST_BYTES_OFF and abs(depth_off) <= _MOST_DEPTH_OFF:
        return ""
    closest = f"{bytes_off * 100:+.0f} % bytes, {depth_off * 100:+.0f} % records per batch"
    return (
        f"no settings explain the stored batches (the closest: {closest}); brokers may answer more slowly than "
        "linger.ms, or the clients may be neither Java's nor librdkafka"
    )


def _point(sample: Sample, present: Sent, sent: Sent, changed: dict[str, PropertyValue]) -> Point:
    ratio = stored_ratio(present.batches, sent.batches)
    records = sum(each.records for each in sent.batches)
    saved = None
    if sample.records_day is not None:
        a_day = sample.records_day * sample.stored_bytes / sample.records
        low, high = (None if end is None else a_day * (1 - end) for end in (ratio.high, ratio.low))
        saved = Estimate(value=a_day * (1 - ratio.value), low=low, high=high)
    return Point(
        settings=changed,
        bytes_per_record=sample.stored_bytes / sample.records * ratio.value,
        records_per_batch=records / len(sent.batches),
        requests_per_record=sent.requests / records,
        stored_ratio=ratio,
        saved_bytes_day=saved,
    )


def stored_ratio(now: Sequence[SentBatch], then: Sequence[SentBatch]) -> Estimate:
    """Return the ratio of the bytes, with a jackknife interval over equal parts of the time.

    Both sides hold the same records. An interval of the logarithm, by Student with one degree of freedom fewer than
    there are parts with data (B. Efron, R. Tibshirani: An Introduction to the Bootstrap, 1993, chapter 11).
    """
    first = min(each.last_ms for each in now)
    span = max(each.last_ms for each in now) - first + 1
    bytes_of_part = np.zeros((2, _BLOCKS))
    for side, batches in enumerate((now, then)):
        for each in batches:
            part = min(max((each.last_ms - first) * _BLOCKS // span, 0), _BLOCKS - 1)
            bytes_of_part[side, part] += each.bytes
    total = bytes_of_part.sum(axis=1)
    ratio = float(total[1] / total[0])
    filled = bytes_of_part[:, bytes_of_part.min(axis=0) > 0]
    parts = filled.shape[1]
    if parts < 3:
        return Estimate(value=ratio)
    without = filled.sum(axis=1, keepdims=True) - filled
    logs = np.log(without[1] / without[0])
    error = math.sqrt((parts - 1) / parts * float(np.sum((logs - logs.mean()) ** 2)))
    half_width = error * float(student_critical((1 - _CONFIDENCE) / 2, parts - 1))
    return Estimate(value=ratio, low=ratio * math.exp(-half_width), high=ratio * math.exp(half_width))


def _bytes(batches: Sequence[SentBatch]) -> int:
    return sum(each.bytes for each in batches)
