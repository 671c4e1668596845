"""Find the guide's symptoms in measurements, with the cause of each, and describe them.

The rules are in `symptoms`. What limited the load precedes what waits for it: a full buffer before a slow disk is
not too small.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kafka_pareto.bottleneck.common_verdict import common_code
from kafka_pareto.bottleneck.limiting_resource import LINK_WAIT_FRACTION
from kafka_pareto.doctor.symptoms import (
    BACKLOG,
    MEASUREMENTS,
    CauseCode,
    CauseRule,
    Change,
    Condition,
    SymptomCode,
    SymptomRule,
)
from kafka_pareto.study.quantity import Value

Settings: TypeAlias = Mapping[str, str | int | float | bool]

_MIB = 1 << 20
_SURE_ERRORS = 3.0
# Where each byte has to pass, and fewer and larger requests carry no more.
_LIMITS_OF_BYTES = ("throttled", "network", "disk")
# Where fewer and larger requests would carry more.
_LIMITS_OF_REQUESTS = ("", "cpu", "request_handlers", "network_threads", "in_flight")
_LIMITS_BEHIND_THE_BUFFER = ("throttled", "gc", "cpu", "network", "disk", "request_handlers", "network_threads")
_BUFFER = ("", "buffer_memory")

_SYMPTOMS: Mapping[SymptomCode, str] = {
    "throughput_plateau": "The sender waited for {buffer_wait_fraction:.0%} of the time: it would have sent more",
    "buffer_full": "The producer's buffer was full",
    "growing_lag": "The lag grows by {lag_growth_fraction:.0%} of what is sent",
    "high_latency": "The latency is high: p99 {p99_ms:,.0f} ms",
}
_CAUSES: Mapping[CauseCode, str] = {
    "uncompressed": "each byte had to wait, and records are not compressed",
    "batches_are_full": "batches are {batch_fill_fraction:.0%} full",
    "no_linger": "a record waits for no other, and batches are {batch_fill_fraction:.0%} full",
    "sent_too_fast": "more is sent than the cluster takes, and a larger buffer would only fill later",
    "buffer_is_small": "the buffer holds {buffer_holds_s:.2f} s of the load",
    "max_block_reached": "{buffer_exhausted_records:,.0f} records were given up after max.block.ms",
    "polls_are_full": "a fetch brings {fetch_of_poll_ratio:.1f} times what a poll may return",
    "too_few_partitions": (
        "consumers wait for records in {live_poll_idle_fraction:.0%} of the time only, and there are "
        "{consumers_per_partition:.1f} consumers for each partition"
    ),
    "processing_is_slow": "consumers wait for records in {live_poll_idle_fraction:.0%} of the time only",
    "linger_is_long": (
        "linger.ms accounts for {linger_of_latency_fraction:.0%} of p99; batches are sent only when it expires"
    ),
    "fetch_waits": "fetches wait for fetch.min.bytes, which accounts for {fetch_of_latency_fraction:.0%} of p99",
    "gc_pauses": "a broker paused for {pause_ms:,.0f} ms to collect garbage",
    "backlog": "a record waits for {queue_fraction:.0%} of its time behind others, far longer than linger.ms",
}
_CHANGES: Mapping[Change, str] = {"raise": "raise {}", "lower": "lower {}", "choose": "choose another {}"}
# Where no setting acts, or where the change has a condition.
_OWN_REMEDIES: Mapping[CauseCode, str] = {
    "sent_too_fast": "send less, or add brokers",
    "backlog": "send less, or add brokers",
    "processing_is_slow": "add consumers, or process faster",
    "too_few_partitions": "process faster; or add consumers and partitions, which breaks the order of each key",
    "polls_are_full": "raise max.poll.records, if that many are processed within max.poll.interval.ms",
    "gc_pauses": "raise -Xmx, if the machine has the memory",
}
_APART: Mapping[Change, str] = {"raise": "a larger value", "lower": "a smaller value", "choose": "another value"}


@dataclass(frozen=True)
class Cause:
    """A cause, with the values of its conditions as evidence."""

    code: CauseCode
    numbers: dict[str, float]
    change: Change
    factor: str


@dataclass(frozen=True)
class Symptom:
    """A symptom, with its values."""

    code: SymptomCode
    numbers: dict[str, float]


@dataclass(frozen=True)
class Diagnosis:
    """The symptoms of one measurement, and their explanation.

    Attributes:
        symptoms: At least one.
        causes: The cause; or two candidates, between which a comparison of the first one's factor decides; or none if
            no cause in the guide fits.
    """

    symptoms: tuple[Symptom, ...]
    causes: tuple[Cause, ...]


def diagnoses(measured: Mapping[str, Sequence[Value]], settings: Settings) -> list[Diagnosis]:
    """Return the symptoms in the measurements, each measurement with its cause.

    Args:
        measured: The values of one configuration's valid repetitions, by quantity.
        settings: Client and topic settings, defaults included; with `consumers` and `partitions` of a group.
    """
    numbers = _numbers(measured, settings)
    return [found for rules in MEASUREMENTS if (found := _diagnosis(rules, numbers)) is not None]


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Describe the symptoms, and how to decide between two candidate causes."""
    shown = " ".join(f"{_SYMPTOMS[each.code].format(**each.numbers)}." for each in diagnosis.symptoms)
    if not diagnosis.causes:
        return f"{shown} None of the guide's causes shows."
    if len(diagnosis.causes) == 1:
        return shown
    first = diagnosis.causes[0]
    return (
        f"{shown} Two causes fit. A comparison of {first.factor} tells them apart: "
        f"if {_APART[first.change]} helps, it is the first, else the second."
    )


def cause_text(cause: Cause) -> str:
    """Describe the cause and its fix in a sentence."""
    why = _CAUSES[cause.code].format(**cause.numbers)
    remedy = _OWN_REMEDIES.get(cause.code) or _CHANGES[cause.change].format(cause.factor)
    return f"{why[0].upper()}{why[1:]}: {remedy}."


def _diagnosis(rules: Sequence[SymptomRule], numbers: Mapping[str, float]) -> Diagnosis | None:
    symptoms: list[Symptom] = []
    holding: list[CauseRule] = []
    for rule in rules:
        shown = [condition for condition in rule.any_of if condition.holds(numbers)]
        if shown:
            symptoms.append(Symptom(rule.code, _of(shown, numbers)))
            holding += [cause for cause in rule.causes if cause.holds(numbers)]
    if not symptoms:
        return None
    others = [cause for cause in holding[1:] if cause.code not in holding[0].leads_to]
    causes = [
        Cause(each.code, _of(each.conditions, numbers), each.change, each.factor)
        for each in [*holding[:1], *others[:1]]
    ]
    return Diagnosis(tuple(symptoms), tuple(causes))


def _of(conditions: Sequence[Condition], numbers: Mapping[str, float]) -> dict[str, float]:
    return {condition.quantity: numbers[condition.quantity] for condition in conditions}


def _numbers(measured: Mapping[str, Sequence[Value]], settings: Settings) -> dict[str, float]:
    """Return the medians, and values derived from them and the settings."""
    numbers: dict[str, float] = {}
    for name, values in measured.items():
        known = [float(value) for value in values if isinstance(value, int | float)]
        if known:
            numbers[name] = statistics.median(known)
    told = {
        name: float(value)
        for name, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    linger_ms = told.get("linger.ms")
    queue_ms, request_ms = numbers.get("queue_time_avg_ms"), numbers.get("request_latency_avg_ms")
    limits = [value if isinstance(value, str) else None for value in measured.get("limited_by", ())]
    limit = common_code(limits)
    bytes_wait = limit in _LIMITS_OF_BYTES or numbers.get("link_wait_fraction", 0.0) >= LINK_WAIT_FRACTION
    # As fast as it goes, a record waits for all that are before it: only at a fixed rate is its latency a symptom.
    p99_ms = numbers.get("latency_p99_ms") if "paced_rate_records_s" in numbers else None
    p99_ms = numbers.get("end_to_end_latency_p99_ms") if p99_ms is None else p99_ms
    batch_bytes = numbers.get("unthrottled_batch_size_avg_bytes", numbers.get("batch_size_avg_bytes"))
    pause_ms = numbers.get("later_gc_pause_longest_ms", numbers.get("gc_pause_longest_ms"))
    derived = {
        "p99_ms": p99_ms,
        "linger_ms": linger_ms,
        "fetch_min_bytes": told.get("fetch.min.bytes"),
        "is_uncompressed": None if "compression.type" not in settings else settings["compression.type"] == "none",
        "bytes_wait": bytes_wait,
        "requests_wait": limit in _LIMITS_OF_REQUESTS and not bytes_wait,
        "is_limited_elsewhere": True if limit in _LIMITS_BEHIND_THE_BUFFER else False if limit in _BUFFER else None,
        "batch_size_bytes": told.get("batch.size"),
        "batch_fill_fraction": _ratio(batch_bytes, told.get("batch.size")),
        "buffer_wait_fraction": numbers.get("buffer_wait_fraction", _waited(numbers)),
        "buffer_holds_s": _ratio(told.get("buffer.memory"), _MIB * numbers.get("throughput_mib_s", 0.0)),
        "queue_fraction": None if request_ms is None or queue_ms is None else _ratio(queue_ms, queue_ms + request_ms),
        "linger_of_latency_fraction": _ratio(linger_ms, p99_ms),
        "queue_of_linger_ratio": _ratio(queue_ms, linger_ms),
        "backlog_of_latency_fraction": (
            None if queue_ms is None or linger_ms is None else _ratio(queue_ms - linger_ms, p99_ms)
        ),
        "pause_ms": pause_ms,
        "pause_of_latency_fraction": _ratio(pause_ms, p99_ms),
        "fetch_of_latency_fraction": _ratio(numbers.get("live_fetch_latency_avg_ms"), p99_ms),
        "fetch_of_poll_ratio": _ratio(numbers.get("live_records_per_fetch_avg"), told.get("max.poll.records")),
        "lag_growth_fraction": _ratio(_lag_growth_records_s(numbers), numbers.get("live_rate_records_s")),
        "consumers_per_partition": _ratio(told.get("consumers"), told.get("partitions")),
    }
    numbers |= {name: float(value) for name, value in derived.items() if value is not None}
    return numbers | {"has_backlog": float(all(condition.holds(numbers) for condition in BACKLOG))}


def _waited(numbers: Mapping[str, float]) -> float | None:
    """Return the share of the load `send()` spent waiting, if only Kafka's own tool reported it."""
    sending_s = _ratio(numbers.get("records_sent"), numbers.get("throughput_records_s"))
    return _ratio(numbers.get("buffer_wait_s"), sending_s)


def _ratio(over: float | None, under: float | None) -> float | None:
    return None if over is None or not under else over / under


def _lag_growth_records_s(numbers: Mapping[str, float]) -> float | None:
    """Return the slope of the lag; zero if it is not significant."""
    slope, error = numbers.get("lag_slope_records_s"), numbers.get("lag_slope_error_records_s", 0.0)
    return 0.0 if slope is not None and slope < _SURE_ERRORS * error else slope
