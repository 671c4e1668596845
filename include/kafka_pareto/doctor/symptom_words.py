"""Says symptoms and their causes in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.doctor.symptoms import Cause, CauseCode, Symptom, SymptomCode

_SYMPTOMS: Mapping[SymptomCode, str] = {
    "throughput_plateau": "The sender waited for {buffer_wait_fraction:.0%} of the time: it would have sent more",
    "high_latency": "The latency is high: p99 {p99_ms:,.0f} ms",
    "buffer_full": "The producer's buffer was full",
    "growing_lag": "The lag grows by {lag_growth_fraction:.0%} of what is sent",
}
_CAUSES: Mapping[CauseCode, str] = {
    "batches_are_full": "batches are {batch_fill_fraction:.0%} full",
    "no_linger": "a record waits for no other, and batches are {batch_fill_fraction:.0%} full",
    "uncompressed": "records are not compressed",
    "linger_is_long": (
        "linger.ms accounts for {linger_of_latency_fraction:.0%} of p99; batches are sent only when it expires"
    ),
    "backlog": "a record waits for {queue_fraction:.0%} of its time behind others, far longer than linger.ms",
    "fetch_waits": "fetches wait for fetch.min.bytes, which accounts for {fetch_of_latency_fraction:.0%} of p99",
    "gc_pauses": "a broker paused for {pause_ms:,.0f} ms to collect garbage",
    "buffer_is_small": "the buffer holds {buffer_holds_s:.2f} s of the load",
    "max_block_reached": "{buffer_exhausted_records:,.0f} records were given up after max.block.ms",
    "sent_too_fast": "more is sent than the cluster takes, and a larger buffer would only fill later",
    "polls_are_full": "a fetch brings {fetch_of_poll_ratio:.1f} times what a poll may return",
    "processing_is_slow": "consumers wait for records in {live_poll_idle_fraction:.0%} of the time only",
    "too_few_partitions": "there are {consumers_per_partition:.1f} consumers for each partition",
}
_CHANGES = {"raise": "raise {}", "lower": "lower {}", "choose": "choose another {}"}
_WITHOUT_A_SETTING: Mapping[CauseCode, str] = {
    "sent_too_fast": "send less, or add brokers",
    "processing_is_slow": "add consumers, or process faster",
}


def symptom_text(symptom: Symptom) -> str:
    """Says what shows, as a sentence."""
    unknown = "" if symptom.causes else "; none of the guide's causes shows"
    return f"{_SYMPTOMS[symptom.code].format(**symptom.numbers)}{unknown}."


def cause_text(cause: Cause) -> str:
    """Says why, and what would act on it, as a sentence."""
    why = _CAUSES[cause.code].format(**cause.numbers)
    remedy = _CHANGES[cause.change].format(cause.setting) if cause.setting else _WITHOUT_A_SETTING[cause.code]
    return f"{why[0].upper()}{why[1:]}: {remedy}."
