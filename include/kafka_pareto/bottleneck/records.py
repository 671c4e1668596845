"""Defines the record of what a machine can do without Kafka."""

from __future__ import annotations

from pydantic import Field

from kafka_pareto.storage.record import Record


class Ceilings(Record):
    """Holds what this machine can do at most in each discipline, when it does nothing else.

    Attributes:
        record_size_bytes: What codecs and generator were measured with.
        payload: What the records were, as the study says it.
        batch_size_bytes: How much a codec compressed at a time.
        loopback_mib_s: One TCP connection over loopback, in one direction.
        disk_write_mib_s: Written one after the other to a file in the given folder, and flushed; None without room
            or a folder.
        codec_mib_s: What one core compresses in each second, by `compression.type`, with Kafka's own codecs and the
            generator's records.
        generator_records_s: What one thread of the load generator hands to a producer that does nothing.
        client_cores: How many cores codecs and generator may use; None where an older record does not say.
    """

    record_size_bytes: int
    payload: str = "random"
    batch_size_bytes: int
    loopback_mib_s: float
    disk_write_mib_s: float | None
    codec_mib_s: dict[str, float] = Field(default_factory=dict)
    generator_records_s: float
    client_cores: int | None = None

    def cores_for(self, threads: int) -> int:
        """Returns how many cores so many threads can have."""
        return threads if self.client_cores is None else min(threads, self.client_cores)
