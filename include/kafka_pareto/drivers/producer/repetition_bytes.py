"""Computes what one repetition of the producer sends at most, and how much of it may lie on the disks at once."""

from __future__ import annotations

from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.measurement.limits import DELETE_RECORDS_AFTER_BYTES

_MIB = 1 << 20
# The broker frees what was deleted only at its next check, so a few portions lie on the disk at once.
_PORTIONS_ON_DISK = 4
# A steady repetition is sized by time; what it sends is known only when the baseline's pace is measured.
_ASSUMED_STEADY_MIB_S = 200.0


def assumed_mib_s(study: ProducerStudy) -> float:
    """Returns the pace that a load is expected to have at most, before one was measured."""
    return study.throughput_limit_mib_s() or _ASSUMED_STEADY_MIB_S


def bytes_of_a_repetition(study: ProducerStudy, case: str) -> int:
    """Returns what one repetition sends: of a burst its records; else what its time allows."""
    burst_records = study.protocol.records or 0
    return burst_records * study.largest_record_bytes(case) or round(_sending_s(study) * assumed_mib_s(study) * _MIB)


def bytes_on_disk(repetition_bytes: int) -> int:
    """Returns how much of repetitions of this size may lie in a topic at once, one replica of it."""
    return _PORTIONS_ON_DISK * (DELETE_RECORDS_AFTER_BYTES + repetition_bytes)


def measured_s(study: ProducerStudy) -> float:
    """Returns the seconds of one repetition's sending, where the study sizes it by time."""
    protocol = study.protocol
    paced_s = ((protocol.paced.warmup_seconds or 0.0) + (protocol.paced.seconds or 0.0)) if protocol.paced else 0.0
    return protocol.warmup_seconds + (protocol.seconds or 0.0) + paced_s


def _sending_s(study: ProducerStudy) -> float:
    """The same in seconds of unthrottled sending, which sends as much: no fixed rate exceeds its share of the pace."""
    protocol = study.protocol
    unthrottled_s = protocol.warmup_seconds + (protocol.seconds or 0.0)
    if protocol.paced is None:
        return unthrottled_s
    if protocol.paced.seconds is None:
        return unthrottled_s * protocol.paced.rate_fraction
    return unthrottled_s + (measured_s(study) - unthrottled_s) * protocol.paced.rate_fraction
