"""Limit of measuring: how long it waits for cluster and machine, and how much it leaves on the disks meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

SEGMENT_BYTES = 64 << 20
DELETE_RECORDS_AFTER_BYTES = 512 << 20


@dataclass(frozen=True)
class MeasuringLimits:
    """The limits that measuring keeps to; tests set shorter ones.

    Attributes:
        recovery_deadline_s: How long a cluster in trouble may take to recover.
        undisturbed_deadline_s: How long a disturbed machine is waited for before the next attempt.
        look_s: How long one look at the machine's load takes.
        delete_after_block_bytes: From so many bytes on, records are deleted when a block ends. Deleting takes the
            brokers a third of a second, and frees whole segments only.
        delete_within_block_bytes: Above so many bytes, records are deleted before the next load.
    """

    recovery_deadline_s: float = 120.0
    undisturbed_deadline_s: float = 60.0
    look_s: float = 1.0
    delete_after_block_bytes: int = SEGMENT_BYTES
    delete_within_block_bytes: int = DELETE_RECORDS_AFTER_BYTES


LIMITS = MeasuringLimits()
