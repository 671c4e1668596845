"""Limits of measuring: waits for cluster and machine, and bytes kept on the disks."""

from __future__ import annotations

from dataclasses import dataclass

SEGMENT_BYTES = 64 << 20
DELETE_RECORDS_AFTER_BYTES = 512 << 20


@dataclass(frozen=True)
class MeasuringLimits:
    """The limits of measuring; tests set shorter ones.

    Attributes:
        recovery_deadline_s: For an unhealthy cluster to recover.
        undisturbed_deadline_s: For a disturbed machine, before the next attempt.
        look_s: Length of one look at the machine's load.
        delete_after_block_bytes: From this size on, records are deleted when a block ends. Deleting takes the
            brokers a third of a second, and frees only whole segments.
        delete_within_block_bytes: Above this many bytes, records are deleted before the next load.
    """

    recovery_deadline_s: float = 120.0
    undisturbed_deadline_s: float = 60.0
    look_s: float = 1.0
    delete_after_block_bytes: int = SEGMENT_BYTES
    delete_within_block_bytes: int = DELETE_RECORDS_AFTER_BYTES


LIMITS = MeasuringLimits()
