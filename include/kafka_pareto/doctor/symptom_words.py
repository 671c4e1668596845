"""Says symptoms and their causes in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.doctor.symptom_rules import CauseCode, Change, SymptomCode
from kafka_pareto.doctor.symptoms import Cause, Diagnosis

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


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Says what shows, and how to tell two causes apart that fit, in sentences."""
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
    """Says why, and what would act on it, as a sentence."""
    why = _CAUSES[cause.code].format(**cause.numbers)
    remedy = _OWN_REMEDIES.get(cause.code) or _CHANGES[cause.change].format(cause.setting)
    return f"{why[0].upper()}{why[1:]}: {remedy}."
