"""Break down the latency of the pick and the reference by the producer's own metrics.

A record waits in the accumulator (for its batch to fill or `linger.ms` to pass, and for a free request slot), then in
its request until the broker answers. The client measures both, and batch fill: these explain why latencies differ.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from kafka_pareto.analysis.wording import share
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.decision.decision import Decision
from kafka_pareto.kafka.known_properties import PropertyValue

Row: TypeAlias = tuple[str, ...]

_NOTEWORTHY_RATIO = 1.25
_NOTEWORTHY_SHARE_OF_TIME = 0.1
_NOTEWORTHY_MS = 0.1
_NOTEWORTHY_BUFFER_WAIT_S = 0.1


class ClientFigures(BaseModel):
    """One configuration's figures: medians over its valid repetitions; None if no repetition has the figure.

    Client metrics cover the part of a repetition that its latencies were taken from. `batch_size_bytes` is the setting,
    `batch_size_avg_bytes` the actual size, compressed. `buffer_wait_s` is the total time `send()` was blocked;
    `compression_rate_avg` is compressed over uncompressed size.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    configuration_id: str
    repetition_ids: list[str]
    batch_size_bytes: int
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    latency_p999_ms: float | None
    latency_p9999_ms: float | None
    latency_from_send_p95_ms: float | None
    queue_time_avg_ms: float | None
    queue_time_max_ms: float | None
    request_latency_avg_ms: float | None
    request_latency_max_ms: float | None
    batch_size_avg_bytes: float | None
    compression_rate_avg: float | None
    records_per_request_avg: float | None
    buffer_wait_s: float | None
    buffer_exhausted_records: float | None
    record_retries: float | None

    @property
    def batch_share(self) -> float | None:
        """Return the filled share of `batch.size`; above 1 if a single record is larger."""
        if self.batch_size_avg_bytes is None or not self.batch_size_bytes:
            return None
        return self.batch_size_avg_bytes / self.batch_size_bytes


_MEDIANS = tuple(
    name
    for name in ClientFigures.model_fields
    if name not in ("configuration_id", "repetition_ids", "batch_size_bytes")
)


class Breakdown(BaseModel):
    """The reference and the pick, if any, measured in the same phase."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    phase: Literal["choice", "gain"]
    reference: ClientFigures
    pick: ClientFigures | None


def latency_breakdown(
    decision: Decision, repetitions: Sequence[Repetition], defaults: Mapping[str, PropertyValue]
) -> Breakdown | None:
    """Return medians over the gain blocks, else the choice blocks; None without the reference's metrics."""
    pick_id = decision.pick_configuration_id
    phase: Literal["choice", "gain"] = "gain" if any(r.phase == "gain" for r in repetitions) else "choice"
    valid = [r for r in repetitions if r.phase == phase and r.outcome == "valid"]
    told = [r for r in valid if r.number("queue_time_avg_ms") is not None]
    reference = _figures(decision.reference_configuration_id, {**defaults, **decision.reference_properties}, told)
    if reference is None:
        return None
    pick = None if pick_id is None else _figures(pick_id, {**defaults, **(decision.pick_properties or {})}, told)
    return Breakdown(phase=phase, reference=reference, pick=pick)


def breakdown_rows(breakdown: Breakdown, reference_label: str, standing: str) -> list[Row]:
    """Return the table with a header; `standing` heads the pick's column. Empty rows are left out."""
    sides = [breakdown.reference] if breakdown.pick is None else [breakdown.reference, breakdown.pick]
    header: Row = ("Latency breakdown (medians)", reference_label, *([standing] if breakdown.pick else []))
    rows = [
        ("p50 / p95 / p99 / p99.9 [ms]", [_percentiles(s) for s in sides]),
        ("p99.99 [ms]", [_plain(s.latency_p9999_ms) for s in sides]),
        ("p95 from send() [ms]", [_plain(s.latency_from_send_p95_ms) for s in sides]),
        ("accumulator, mean / max [ms]", [_joined(s.queue_time_avg_ms, s.queue_time_max_ms) for s in sides]),
        ("request, mean / max [ms]", [_joined(s.request_latency_avg_ms, s.request_latency_max_ms) for s in sides]),
        ("batch [B] (of batch.size)", [_batch(s) for s in sides]),
        ("records per request", [_plain(s.records_per_request_avg) for s in sides]),
        ("compressed to", [share(s.compression_rate_avg) for s in sides]),
        ("send() blocked [s]", [_plain(s.buffer_wait_s) for s in sides]),
    ]
    for label, name in (
        ("rejected, buffer exhausted", "buffer_exhausted_records"),
        ("records resent", "record_retries"),
    ):
        if any(counts := [getattr(s, name) for s in sides]):
            rows.append((label, [_plain(count) for count in counts]))
    return [header, *((label, *cells) for label, cells in rows if any(cell != "-" for cell in cells))]


def explanation(breakdown: Breakdown) -> list[str]:
    """Explain in sentences what the pick does differently.

    Thresholds: 10 % of the reference's sum of both and 0.1 ms for accumulator and request times; a ratio of 1.25 for
    records per request and compression; that ratio and 0.1 s for the wait for buffer space.
    """
    if breakdown.pick is None:
        return []
    told = [describe(breakdown.reference, breakdown.pick) for describe in (_times, _requests, _buffer)]
    return [f"{text[0].upper()}{text[1:]}." for text in told if text] or [
        "The client's metrics show no relevant difference."
    ]


def _figures(
    configuration_id: str, properties: dict[str, PropertyValue], told: Sequence[Repetition]
) -> ClientFigures | None:
    own = [repetition for repetition in told if repetition.configuration_id == configuration_id]
    if not own:
        return None
    return ClientFigures(
        configuration_id=configuration_id,
        repetition_ids=[repetition.repetition_id for repetition in own],
        batch_size_bytes=int(properties["batch.size"]),
        **{name: _median([repetition.number(name) for repetition in own]) for name in _MEDIANS},
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _times(reference: ClientFigures, pick: ClientFigures) -> str:
    before = reference.queue_time_avg_ms, reference.request_latency_avg_ms
    after = pick.queue_time_avg_ms, pick.request_latency_avg_ms
    if before[0] is None or before[1] is None or after[0] is None or after[1] is None:
        return ""
    least_ms = max(_NOTEWORTHY_SHARE_OF_TIME * (before[0] + before[1]), _NOTEWORTHY_MS)
    waiting_ms, request_ms = after[0] - before[0], after[1] - before[1]
    parts = []
    if abs(waiting_ms) >= least_ms:
        parts.append(f"records wait {_plain(abs(waiting_ms))} ms {_more(waiting_ms)} in the accumulator")
    if abs(request_ms) >= least_ms:
        parts.append(f"broker responses take {_plain(abs(request_ms))} ms {'longer' if request_ms > 0 else 'less'}")
    link = ", but " if waiting_ms * request_ms < 0 else ", and "
    return link.join(parts)


def _requests(reference: ClientFigures, pick: ClientFigures) -> str:
    parts = []
    before, after = reference.records_per_request_avg, pick.records_per_request_avg
    if before and after and (ratio := max(before / after, after / before)) >= _NOTEWORTHY_RATIO:
        fewer = "fewer" if after > before else "more"
        parts.append(
            f"{_plain(ratio, 2)}x {fewer} requests: {_plain(after)} records per request instead of {_plain(before)}"
        )
    before, after = reference.compression_rate_avg, pick.compression_rate_avg
    if before and after and max(before / after, after / before) >= _NOTEWORTHY_RATIO:
        parts.append(f"batches compress to {share(after)} of their original size instead of {share(before)}")
    return "; ".join(parts)


def _buffer(reference: ClientFigures, pick: ClientFigures) -> str:
    before, after = reference.buffer_wait_s, pick.buffer_wait_s
    if before is None or after is None or abs(after - before) < _NOTEWORTHY_BUFFER_WAIT_S:
        return ""
    if max(before, after) < _NOTEWORTHY_RATIO * min(before, after):
        return ""
    return f"the wait for buffer space is {_plain(abs(after - before))} s {'longer' if after > before else 'shorter'}"


def _more(difference: float) -> str:
    return "longer" if difference > 0 else "less"


def _plain(value: float | None, digits: int = 3) -> str:
    """Round to significant digits, but never before the point nor finer than a thousandth."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{round(value, 3):.{digits}g}"


def _joined(*values: float | None) -> str:
    known = [_plain(value) for value in values if value is not None]
    return " / ".join(known) or "-"


def _percentiles(side: ClientFigures) -> str:
    return _joined(side.latency_p50_ms, side.latency_p95_ms, side.latency_p99_ms, side.latency_p999_ms)


def _batch(side: ClientFigures) -> str:
    return (
        "-" if side.batch_size_avg_bytes is None else f"{_plain(side.batch_size_avg_bytes)} ({share(side.batch_share)})"
    )
