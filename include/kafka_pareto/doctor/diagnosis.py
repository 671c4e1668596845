"""Find the guide's symptoms and their causes in measurements, and describe them.

The rules are in `symptoms`. The load's limit takes precedence over its consequences: if a slow disk fills the buffer,
the buffer is not too small.
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
# Limits on bytes: fewer and larger requests do not help.
_LIMITS_OF_BYTES = ("throttled", "network", "disk")
# Limits on requests: fewer and larger ones would help.
_LIMITS_OF_REQUESTS = ("", "cpu", "request_handlers", "network_threads", "in_flight")
_LIMITS_BEHIND_THE_BUFFER = ("throttled", "gc", "cpu", "network", "disk", "request_handlers", "network_threads")
_BUFFER = ("", "buffer_memory")

_SYMPTOMS: Mapping[SymptomCode, str] = {
    "throughput_plateau": "Throughput plateau: send() was blocked {buffer_wait_fraction:.0%} of the time",
    "buffer_full": "Producer buffer full",
    "growing_lag": "Growing lag: {lag_growth_fraction:.0%} of the records sent are not consumed in time",
    "high_latency": "High latency: p99 {p99_ms:,.0f} ms",
}
_CAUSES: Mapping[CauseCode, str] = {
    "uncompressed": "throughput is limited by bytes, and records are not compressed",
    "batches_are_full": "batches are {batch_fill_fraction:.0%} full",
    "no_linger": "with linger.ms 0, batches are only {batch_fill_fraction:.0%} full",
    "sent_too_fast": "the producers send more than the cluster accepts, and a larger buffer would only fill later",
    "buffer_is_small": "the buffer holds only {buffer_holds_s:.2f} s of the load",
    "max_block_reached": "{buffer_exhausted_records:,.0f} records were dropped after max.block.ms",
    "polls_are_full": "a fetch returns {fetch_of_poll_ratio:.1f} times max.poll.records",
    "too_few_partitions": (
        "consumers are idle only {live_poll_idle_fraction:.0%} of the time, with {consumers_per_partition:.1f} "
        "consumers per partition"
    ),
    "processing_is_slow": "consumers are idle only {live_poll_idle_fraction:.0%} of the time",
    "linger_is_long": "most of p99 ({linger_of_latency_fraction:.0%}) is linger.ms, and batches wait until it expires",
    "fetch_waits": "waiting for fetch.min.bytes takes {fetch_of_latency_fraction:.0%} of p99",
    "gc_pauses": "garbage collection paused a broker for {pause_ms:,.0f} ms",
    "backlog": "records spend {queue_fraction:.0%} of their time queued in the producer, far longer than linger.ms",
}
_CHANGES: Mapping[Change, str] = {"raise": "raise {}", "lower": "lower {}", "choose": "choose another {}"}
# For causes that no setting fixes, or only under a condition.
_SPECIAL_FIXES: Mapping[CauseCode, str] = {
    "sent_too_fast": "reduce the load or add brokers",
    "backlog": "reduce the load or add brokers",
    "processing_is_slow": "add consumers or speed up processing",
    "too_few_partitions": "speed up processing, or add consumers and partitions, which breaks the order of each key",
    "polls_are_full": "raise max.poll.records, if consumers can process that many within max.poll.interval.ms",
    "gc_pauses": "raise -Xmx, if the machine has enough memory",
}
_OUTCOMES: Mapping[Change, str] = {"raise": "a larger value", "lower": "a smaller value", "choose": "another value"}


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
        causes: The cause; two candidates if a comparison of the first one's factor must decide; or none if no cause in
            the guide fits.
    """

    symptoms: tuple[Symptom, ...]
    causes: tuple[Cause, ...]


def diagnoses(measured: Mapping[str, Sequence[Value]], settings: Settings) -> list[Diagnosis]:
    """Return the symptoms and causes of each measurement that shows symptoms.

    Args:
        measured: Values of one configuration's valid repetitions, by quantity.
        settings: Client and topic settings, defaults included; with `consumers` and `partitions` of a group.
    """
    numbers = _numbers(measured, settings)
    return [found for rules in MEASUREMENTS if (found := _diagnosis(rules, numbers)) is not None]


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Describe the symptoms, and the comparison that decides between two candidate causes."""
    shown = " ".join(f"{_filled(_SYMPTOMS[each.code], each.numbers)}." for each in diagnosis.symptoms)
    if not diagnosis.causes:
        return f"{shown} No cause from the guide matches."
    if len(diagnosis.causes) == 1:
        return shown
    first = diagnosis.causes[0]
    return (
        f"{shown} Two causes fit. Compare {first.factor} to decide: if {_OUTCOMES[first.change]} helps, it is the "
        "first, otherwise the second."
    )


def cause_text(cause: Cause) -> str:
    """Describe the cause and its fix in a sentence."""
    why = _filled(_CAUSES[cause.code], cause.numbers)
    fix = _SPECIAL_FIXES.get(cause.code) or _CHANGES[cause.change].format(cause.factor)
    return f"{why[0].upper()}{why[1:]}: {fix}."


def _filled(text: str, numbers: Mapping[str, float]) -> str:
    return text.format(**numbers).replace("%", " %")


def _diagnosis(rules: Sequence[SymptomRule], numbers: Mapping[str, float]) -> Diagnosis | None:
    symptoms: list[Symptom] = []
    met: list[CauseRule] = []
    for rule in rules:
        shown = [condition for condition in rule.any_of if condition.holds(numbers)]
        if shown:
            symptoms.append(Symptom(rule.code, _of(shown, numbers)))
            met += [cause for cause in rule.causes if cause.holds(numbers)]
    if not symptoms:
        return None
    others = [cause for cause in met[1:] if cause.code not in met[0].leads_to]
    causes = [
        Cause(each.code, _of(each.conditions, numbers), each.change, each.factor) for each in [*met[:1], *others[:1]]
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
    given = {
        name: float(value)
        for name, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    linger_ms = given.get("linger.ms")
    queue_ms, request_ms = numbers.get("queue_time_avg_ms"), numbers.get("request_latency_avg_ms")
    limits = [value if isinstance(value, str) else None for value in measured.get("limited_by", ())]
    limit = common_code(limits)
    bytes_wait = limit in _LIMITS_OF_BYTES or numbers.get("link_wait_fraction", 0.0) >= LINK_WAIT_FRACTION
    # Unthrottled, records queue by design: latency is a symptom only at a fixed rate.
    p99_ms = numbers.get("latency_p99_ms") if "paced_rate_records_s" in numbers else None
    p99_ms = numbers.get("end_to_end_latency_p99_ms") if p99_ms is None else p99_ms
    batch_bytes = numbers.get("unthrottled_batch_size_avg_bytes", numbers.get("batch_size_avg_bytes"))
    pause_ms = numbers.get("later_gc_pause_longest_ms", numbers.get("gc_pause_longest_ms"))
    derived = {
        "p99_ms": p99_ms,
        "linger_ms": linger_ms,
        "fetch_min_bytes": given.get("fetch.min.bytes"),
        "is_uncompressed": None if "compression.type" not in settings else settings["compression.type"] == "none",
        "bytes_wait": bytes_wait,
        "requests_wait": limit in _LIMITS_OF_REQUESTS and not bytes_wait,
        "is_limited_elsewhere": True if limit in _LIMITS_BEHIND_THE_BUFFER else False if limit in _BUFFER else None,
        "batch_size_bytes": given.get("batch.size"),
        "batch_fill_fraction": _ratio(batch_bytes, given.get("batch.size")),
        "buffer_wait_fraction": numbers.get("buffer_wait_fraction", _waited(numbers)),
        "buffer_holds_s": _ratio(given.get("buffer.memory"), _MIB * numbers.get("throughput_mib_s", 0.0)),
        "queue_fraction": None if request_ms is None or queue_ms is None else _ratio(queue_ms, queue_ms + request_ms),
        "linger_of_latency_fraction": _ratio(linger_ms, p99_ms),
        "queue_of_linger_ratio": _ratio(queue_ms, linger_ms),
        "backlog_of_latency_fraction": (
            None if queue_ms is None or linger_ms is None else _ratio(queue_ms - linger_ms, p99_ms)
        ),
        "pause_ms": pause_ms,
        "pause_of_latency_fraction": _ratio(pause_ms, p99_ms),
        "fetch_of_latency_fraction": _ratio(numbers.get("live_fetch_latency_avg_ms"), p99_ms),
        "fetch_of_poll_ratio": _ratio(numbers.get("live_records_per_fetch_avg"), given.get("max.poll.records")),
        "lag_growth_fraction": _ratio(_lag_growth_records_s(numbers), numbers.get("live_rate_records_s")),
        "consumers_per_partition": _ratio(given.get("consumers"), given.get("partitions")),
    }
    numbers |= {name: float(value) for name, value in derived.items() if value is not None}
    return numbers | {"has_backlog": float(all(condition.holds(numbers) for condition in BACKLOG))}


def _waited(numbers: Mapping[str, float]) -> float | None:
    """Return the share of time `send()` was blocked, from the totals that Kafka's own tool reports."""
    sending_s = _ratio(numbers.get("records_sent"), numbers.get("throughput_records_s"))
    return _ratio(numbers.get("buffer_wait_s"), sending_s)


def _ratio(over: float | None, under: float | None) -> float | None:
    return None if over is None or not under else over / under


def _lag_growth_records_s(numbers: Mapping[str, float]) -> float | None:
    """Return the slope of the lag; zero if it is not significant."""
    slope, error = numbers.get("lag_slope_records_s"), numbers.get("lag_slope_error_records_s", 0.0)
    return 0.0 if slope is not None and slope < _SURE_ERRORS * error else slope
