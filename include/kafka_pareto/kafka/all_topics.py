"""Health of all topics that a user may describe."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TroubledTopic(_Answer):
    """A topic with a leaderless or under-replicated partition."""

    topic: str
    partitions: int
    leaderless: int
    out_of_sync: int

    @property
    def reason(self) -> str:
        """Describe the problem."""
        counts = {"without a leader": self.leaderless, "with a replica out of sync": self.out_of_sync}
        wrong = [f"{count} {what}" for what, count in counts.items() if count]
        return f"topic {self.topic}: of {self.partitions} partitions {', '.join(wrong)}"


class AllTopicsHealth(_Answer):
    """Count of the topics that this user may describe, and those in trouble; Kafka hides all others."""

    topics: int
    troubled: tuple[TroubledTopic, ...]
