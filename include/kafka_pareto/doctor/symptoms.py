"""Finds the guide's four symptoms (section "Problèmes Courants") and their causes in what was measured. Pure.

A condition compares a quantity's median over the repetitions with a number. A condition on a quantity that nobody
measured does not hold. What limited the load stands before what waits for it: a full buffer before a disk is not small.
A repetition has two parts, and a symptom is explained by its own: a plateau by the part that is
sent as fast as it goes, latency and lag by the one at the fixed rate.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_pareto.bottleneck.common_verdict import common_code
from kafka_pareto.study.quantity import Value

SymptomCode: TypeAlias = Literal["throughput_plateau", "high_latency", "buffer_full", "growing_lag"]
CauseCode: TypeAlias = Literal[
    "batches_are_full", "no_linger", "uncompressed",
    "linger_is_long", "backlog", "fetch_waits", "gc_pauses",
    "buffer_is_small", "max_block_reached", "sent_too_fast",
    "polls_are_full", "processing_is_slow", "too_few_partitions",
]  # fmt: skip
Change: TypeAlias = Literal["raise", "lower", "choose"]
Settings: TypeAlias = Mapping[str, str | int | float | bool]

_MIB = 1 << 20

# The slower of the guide's two published results: acks=all, p99. It calls no number high.
_HIGH_P99_MS = 35.0
_GUIDES_BATCH_BYTES = _MIB
_SURE_ERRORS = 3.0
# Where fewer and larger requests carry no more: each byte has to pass, or nobody asks for more.
_LIMITS_OF_BYTES = ("throttled", "load_tool", "gc", "network", "disk")
_LIMITS_BEHIND_THE_BUFFER = (
    *("throttled", "gc", "cpu", "network", "disk"),
    *("request_handlers", "network_threads"),
)
_BUFFER = ("", "buffer_memory")
# The guide's "Pauses >100ms → Problème GC".
_LONG_PAUSE_MS = 100.0


@dataclass(frozen=True)
class Condition:
    """Asks for a quantity, measured or derived, to be at least or at most a number."""

    quantity: str
    is_at: Literal["least", "most"]
    bound: float

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Tells whether it holds; not where the quantity is unknown."""
        value = numbers.get(self.quantity)
        if value is None:
            return False
        return value >= self.bound if self.is_at == "least" else value <= self.bound


@dataclass(frozen=True)
class CauseRule:
    """Names a cause, which is found where all conditions hold, and what acts on it.

    Attributes:
        setting: What to change; empty where no setting of Kafka's acts on it.
        factor: The factor whose impact table shows what the change does; empty where there is no such table.
    """

    code: CauseCode
    conditions: tuple[Condition, ...]
    setting: str
    change: Change
    factor: str


@dataclass(frozen=True)
class SymptomRule:
    """Names a symptom, which is found where one of the conditions holds."""

    code: SymptomCode
    any_of: tuple[Condition, ...]
    causes: tuple[CauseRule, ...]


@dataclass(frozen=True)
class Cause:
    """Holds a cause that was found, with the numbers of its conditions."""

    code: CauseCode
    numbers: dict[str, float]
    setting: str
    change: Change
    factor: str


@dataclass(frozen=True)
class Symptom:
    """Holds a symptom that was found; without causes where none of those that the guide names shows."""

    code: SymptomCode
    numbers: dict[str, float]
    causes: tuple[Cause, ...]


def _least(quantity: str, bound: float) -> Condition:
    return Condition(quantity, "least", bound)


def _most(quantity: str, bound: float) -> Condition:
    return Condition(quantity, "most", bound)


RULES: tuple[SymptomRule, ...] = (
    SymptomRule(
        "throughput_plateau",
        # A sender that waits would send more.
        (_least("buffer_wait_fraction", 0.2),),
        (
            # A producer closes a compressed batch at three quarters of batch.size, as it estimates.
            CauseRule(
                "batches_are_full",
                (
                    _least("batch_fill_fraction", 0.7),
                    _most("batch_size_bytes", _GUIDES_BATCH_BYTES - 1),
                    _most("is_limited_by_bytes", 0),
                ),
                "batch.size",
                "raise",
                "batch.size",
            ),
            CauseRule(
                "no_linger",
                (_most("linger_ms", 0), _most("batch_fill_fraction", 0.5)),
                "linger.ms",
                "raise",
                "linger.ms",
            ),
            CauseRule(
                "uncompressed", (_least("is_uncompressed", 1),), "compression.type", "choose", "compression.type"
            ),
        ),
    ),
    SymptomRule(
        "high_latency",
        (_least("p99_ms", _HIGH_P99_MS),),
        (
            CauseRule(
                "linger_is_long",
                # Batches that fill sooner do not wait for it, and 5 ms explain no p99 of 500.
                (_least("linger_of_latency_fraction", 0.5), _least("queue_of_linger_ratio", 0.5)),
                "linger.ms",
                "lower",
                "linger.ms",
            ),
            CauseRule(
                "backlog",
                (_least("queue_fraction", 0.5), _least("backlog_of_latency_fraction", 0.1)),
                "buffer.memory",
                "lower",
                "buffer.memory",
            ),
            CauseRule(
                "fetch_waits",
                # A record that comes while a fetch waits for more bytes waits as long as what is left of it.
                (_least("fetch_min_bytes", 2), _least("fetch_of_latency_fraction", 0.5)),
                "fetch.min.bytes",
                "lower",
                "fetch.min.bytes",
            ),
            CauseRule("gc_pauses", (_least("pause_ms", _LONG_PAUSE_MS),), "-Xmx", "raise", ""),
        ),
    ),
    SymptomRule(
        "buffer_full",
        (_least("buffer_exhausted_records", 1), _least("buffer_wait_fraction", 0.05)),
        (
            CauseRule(
                "buffer_is_small",
                (_most("buffer_holds_s", 1.0), _most("is_limited_elsewhere", 0)),
                "buffer.memory",
                "raise",
                "buffer.memory",
            ),
            CauseRule(
                "max_block_reached",
                (_least("buffer_exhausted_records", 1),),
                "max.block.ms",
                "raise",
                "max.block.ms",
            ),
            # More buffer would only fill later.
            CauseRule(
                "sent_too_fast",
                (_least("buffer_wait_fraction", 0.2), _least("is_limited_elsewhere", 1)),
                "",
                "lower",
                "producers",
            ),
        ),
    ),
    SymptomRule(
        "growing_lag",
        (_least("lag_growth_fraction", 0.01),),
        (
            # A lag by itself fills fetches: only a consumer that hardly waits for records is held up by its polls.
            CauseRule(
                "polls_are_full",
                (_least("fetch_of_poll_ratio", 1), _most("live_poll_idle_fraction", 0.1)),
                "max.poll.records",
                "raise",
                "max.poll.records",
            ),
            CauseRule("processing_is_slow", (_most("live_poll_idle_fraction", 0.1),), "", "raise", "consumers"),
            CauseRule(
                "too_few_partitions", (_least("consumers_per_partition", 1),), "partitions", "raise", "partitions"
            ),
        ),
    ),
)


def symptoms_found(measured: Mapping[str, Sequence[Value]], settings: Settings) -> list[Symptom]:
    """Returns the symptoms that the measurements show, each with the causes that they show.

    Args:
        measured: The values of one configuration's valid repetitions, by quantity.
        settings: What client and topic are told, defaults included; with `consumers` and `partitions` of a group.
    """
    numbers = _numbers(measured, settings)
    found = []
    for rule in RULES:
        holding = [condition for condition in rule.any_of if condition.holds(numbers)]
        if holding:
            causes = tuple(
                Cause(each.code, _of(each.conditions, numbers), each.setting, each.change, each.factor)
                for each in rule.causes
                if all(condition.holds(numbers) for condition in each.conditions)
            )
            found.append(Symptom(rule.code, _of(holding, numbers), causes))
    return found


def _of(conditions: Sequence[Condition], numbers: Mapping[str, float]) -> dict[str, float]:
    return {condition.quantity: numbers[condition.quantity] for condition in conditions}


def _numbers(measured: Mapping[str, Sequence[Value]], settings: Settings) -> dict[str, float]:
    """Returns the medians, and what follows from them and the settings."""
    numbers: dict[str, float] = {}
    for name, values in measured.items():
        known = [float(value) for value in values if isinstance(value, int | float)]
        if known:
            numbers[name] = statistics.median(known)
    told = {name: float(value) for name, value in settings.items() if _is_number(value)}
    queue_ms, request_ms = numbers.get("queue_time_avg_ms"), numbers.get("request_latency_avg_ms")
    bytes_s = _times(numbers.get("throughput_mib_s"), _MIB)
    limits = [value if isinstance(value, str) else None for value in measured.get("limited_by", ())]
    limit = common_code(limits)
    # As fast as it goes, a record waits for all that are before it: only at a fixed rate is its latency a symptom.
    p99_ms = numbers.get("latency_p99_ms") if "paced_rate_records_s" in numbers else None
    p99_ms = numbers.get("end_to_end_latency_p99_ms") if p99_ms is None else p99_ms
    batch_bytes = numbers.get("unthrottled_batch_size_avg_bytes", numbers.get("batch_size_avg_bytes"))
    derived = {
        "p99_ms": p99_ms,
        "linger_ms": told.get("linger.ms"),
        "fetch_min_bytes": told.get("fetch.min.bytes"),
        "is_uncompressed": None if "compression.type" not in settings else settings["compression.type"] == "none",
        "is_limited_by_bytes": None if limit is None else limit in _LIMITS_OF_BYTES,
        "is_limited_elsewhere": True if limit in _LIMITS_BEHIND_THE_BUFFER else False if limit in _BUFFER else None,
        "batch_size_bytes": told.get("batch.size"),
        "batch_fill_fraction": _ratio(batch_bytes, told.get("batch.size")),
        "buffer_wait_fraction": numbers.get("buffer_wait_fraction", _waited(numbers)),
        "buffer_holds_s": _ratio(told.get("buffer.memory"), bytes_s),
        "queue_fraction": None if request_ms is None or queue_ms is None else _ratio(queue_ms, queue_ms + request_ms),
        "linger_of_latency_fraction": _ratio(told.get("linger.ms"), p99_ms),
        "queue_of_linger_ratio": _ratio(queue_ms, told.get("linger.ms")),
        "backlog_of_latency_fraction": _ratio(_beyond(queue_ms, told.get("linger.ms")), p99_ms),
        "pause_ms": numbers.get("later_gc_pause_longest_ms", numbers.get("gc_pause_longest_ms")),
        "fetch_of_latency_fraction": _ratio(numbers.get("live_fetch_latency_avg_ms"), p99_ms),
        "fetch_of_poll_ratio": _ratio(numbers.get("live_records_per_fetch_avg"), told.get("max.poll.records")),
        "lag_growth_fraction": _ratio(_lag_growth_records_s(numbers), numbers.get("live_rate_records_s")),
        "consumers_per_partition": _ratio(told.get("consumers"), told.get("partitions")),
    }
    return numbers | {name: float(value) for name, value in derived.items() if value is not None}


def _is_number(value: str | float | bool) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _waited(numbers: Mapping[str, float]) -> float | None:
    """Returns the share of the load in which `send()` waited, where only Kafka's own tool told of it."""
    sending_s = _ratio(numbers.get("records_sent"), numbers.get("throughput_records_s"))
    return _ratio(numbers.get("buffer_wait_s"), sending_s)


def _ratio(over: float | None, under: float | None) -> float | None:
    return None if over is None or not under else over / under


def _lag_growth_records_s(numbers: Mapping[str, float]) -> float | None:
    """Returns the slope of the lag; zero where it may be one of chance."""
    slope, error = numbers.get("lag_slope_records_s"), numbers.get("lag_slope_error_records_s", 0.0)
    return 0.0 if slope is not None and slope < _SURE_ERRORS * error else slope


def _beyond(value: float | None, least: float | None) -> float | None:
    return None if value is None or least is None else value - least


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
