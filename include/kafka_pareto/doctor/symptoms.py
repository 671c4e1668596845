"""Define the guide's four symptoms ("Problèmes Courants") and their causes, in the order they are tested.

A condition compares a quantity's median over the repetitions with a number; it is False without a measurement.

A repetition has two measurements, diagnosed separately: the unthrottled phase shows a plateau or a full buffer, the
fixed-rate phase latency and lag. Causes precede their consequences, so the first match is the cause. If the next match
is not a consequence of it, both fit, and a comparison of the first one's factor decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

SymptomCode: TypeAlias = Literal["throughput_plateau", "buffer_full", "growing_lag", "high_latency"]
CauseCode: TypeAlias = Literal[
    "uncompressed", "batches_are_full", "no_linger", "sent_too_fast",
    "buffer_is_small", "max_block_reached",
    "polls_are_full", "too_few_partitions", "processing_is_slow",
    "linger_is_long", "fetch_waits", "gc_pauses", "backlog",
]  # fmt: skip
Change: TypeAlias = Literal["raise", "lower", "choose"]

# The p99 of the guide's slower result (acks=all); the guide does not define a high latency.
_HIGH_P99_MS = 35.0
_GUIDES_BATCH_BYTES = 1 << 20
# The guide's "Pauses >100ms → Problème GC".
_LONG_PAUSE_MS = 100.0


@dataclass(frozen=True)
class Condition:
    """A bound on a measured or derived quantity."""

    quantity: str
    is_at: Literal["least", "most"]
    bound: float

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Return whether it holds; False for an unknown quantity."""
        value = numbers.get(self.quantity)
        if value is None:
            return False
        return value >= self.bound if self.is_at == "least" else value <= self.bound


@dataclass(frozen=True)
class CauseRule:
    """A cause and its fix; found if all conditions hold.

    Attributes:
        factor: The factor to change, whose impact table shows the effect; empty without such a table.
        leads_to: Later causes that are consequences of this one and are not reported beside it.
    """

    code: CauseCode
    conditions: tuple[Condition, ...]
    change: Change
    factor: str
    leads_to: tuple[CauseCode, ...] = ()

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Return whether all conditions hold."""
        return all(condition.holds(numbers) for condition in self.conditions)


@dataclass(frozen=True)
class SymptomRule:
    """A symptom; found if one of the conditions holds."""

    code: SymptomCode
    any_of: tuple[Condition, ...]
    causes: tuple[CauseRule, ...]


def _least(quantity: str, bound: float) -> Condition:
    return Condition(quantity, "least", bound)


def _most(quantity: str, bound: float) -> Condition:
    return Condition(quantity, "most", bound)


_IS_SLOW = _least("p99_ms", _HIGH_P99_MS)

BACKLOG = (_IS_SLOW, _least("queue_fraction", 0.5), _least("backlog_of_latency_fraction", 0.1))
"""Conditions for records queued in the producer: longer than the request takes, and beyond `linger.ms`."""

_PLATEAU = SymptomRule(
    "throughput_plateau",
    # A blocked sender would have sent more.
    (_least("buffer_wait_fraction", 0.2),),
    (
        CauseRule(
            "uncompressed",
            (_least("is_uncompressed", 1), _least("bytes_wait", 1)),
            "choose",
            "compression.type",
            ("max_block_reached",),
        ),
        # The producer estimates compressed sizes and closes a batch at about three quarters of batch.size.
        CauseRule(
            "batches_are_full",
            (
                _least("batch_fill_fraction", 0.7),
                _most("batch_size_bytes", _GUIDES_BATCH_BYTES - 1),
                _least("requests_wait", 1),
            ),
            "raise",
            "batch.size",
            ("max_block_reached",),
        ),
        # Each batch takes batch.size of the buffer even if nearly empty, so this precedes a small buffer.
        CauseRule(
            "no_linger",
            (_most("linger_ms", 0), _most("batch_fill_fraction", 0.5), _most("bytes_wait", 0)),
            "raise",
            "linger.ms",
            ("max_block_reached",),
        ),
        # A larger buffer would only fill later.
        CauseRule("sent_too_fast", (_least("is_limited_elsewhere", 1),), "lower", "producers", ("max_block_reached",)),
    ),
)

_FULL_BUFFER = SymptomRule(
    "buffer_full",
    (_least("buffer_exhausted_records", 1), _least("buffer_wait_fraction", 0.05)),
    (
        CauseRule(
            "buffer_is_small",
            # If records queue even at the fixed rate, a larger buffer would only allow a longer queue.
            (_most("buffer_holds_s", 1.0), _most("is_limited_elsewhere", 0), _most("has_backlog", 0)),
            "raise",
            "buffer.memory",
            ("max_block_reached",),
        ),
        CauseRule("max_block_reached", (_least("buffer_exhausted_records", 1),), "raise", "max.block.ms"),
    ),
)

# With a growing lag, latency is a consequence of the lag.
_LATENCY_CAUSES: tuple[CauseCode, ...] = ("linger_is_long", "fetch_waits", "gc_pauses", "backlog")
# A lag fills fetches anyway: polls or processing are the limit only if the consumer is hardly ever idle.
_NEVER_IDLE = _most("live_poll_idle_fraction", 0.1)

_LAG = SymptomRule(
    "growing_lag",
    (_least("lag_growth_fraction", 0.01),),
    (
        CauseRule(
            "polls_are_full",
            (_least("fetch_of_poll_ratio", 1), _NEVER_IDLE),
            "raise",
            "max.poll.records",
            _LATENCY_CAUSES,
        ),
        CauseRule(
            "too_few_partitions",
            (_least("consumers_per_partition", 1), _NEVER_IDLE),
            "raise",
            "partitions",
            ("processing_is_slow", *_LATENCY_CAUSES),
        ),
        CauseRule("processing_is_slow", (_NEVER_IDLE,), "raise", "consumers", _LATENCY_CAUSES),
    ),
)

_LATENCY = SymptomRule(
    "high_latency",
    (_IS_SLOW,),
    (
        CauseRule(
            "linger_is_long",
            # Batches that fill earlier do not wait for it, and 5 ms do not explain a p99 of 500 ms.
            (_least("linger_of_latency_fraction", 0.5), _least("queue_of_linger_ratio", 0.5)),
            "lower",
            "linger.ms",
        ),
        CauseRule(
            "fetch_waits",
            # A record that arrives during a fetch's wait waits for the remainder.
            (_least("fetch_min_bytes", 2), _least("fetch_of_latency_fraction", 0.5)),
            "lower",
            "fetch.min.bytes",
        ),
        CauseRule(
            "gc_pauses",
            (_least("pause_ms", _LONG_PAUSE_MS), _least("pause_of_latency_fraction", 0.5)),
            "raise",
            "",
            ("backlog",),
        ),
        CauseRule("backlog", BACKLOG, "lower", "producers"),
    ),
)

MEASUREMENTS: tuple[tuple[SymptomRule, ...], ...] = ((_PLATEAU, _FULL_BUFFER), (_LAG, _LATENCY))
"""Symptoms by measurement: the unthrottled phase, then the phase at the fixed rate."""
