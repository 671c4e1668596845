"""Define what a cluster says of all its topics that a user may describe."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TroubledTopic(_Answer):
    """A topic of which a partition lacks its leader, or a replica in sync."""

    topic: str
    partitions: int
    leaderless: int
    out_of_sync: int

    @property
    def reason(self) -> str:
        """Describe in words what is wrong."""
        counts = {"without a leader": self.leaderless, "with a replica out of sync": self.out_of_sync}
        wrong = [f"{count} {what}" for what, count in counts.items() if count]
        return f"topic {self.topic}: of {self.partitions} partitions {', '.join(wrong)}"


class AllTopicsHealth(_Answer):
    """Count the topics that this user may describe, and list those in trouble; Kafka hides all others."""

    topics: int
    troubled: tuple[TroubledTopic, ...]
