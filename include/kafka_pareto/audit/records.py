"""The report of an audit: each topic as read, and what other settings would store."""

from __future__ import annotations

from kafka_pareto.audit.estimates import Prediction
from kafka_pareto.audit.reading import Topic, Unread
from kafka_pareto.storage.record import Frozen, Record


class AuditedTopic(Frozen):
    """A topic, and what other settings would change; no prediction for a topic without records."""

    read: Topic
    prediction: Prediction | None

    @property
    def saved_bytes_day(self) -> float:
        """Return the most that a set of settings saves per day in all replicas; 0 if unknown."""
        points = self.prediction.points if self.prediction else ()
        saved = [each.saved_bytes_day.value for each in points if each.saved_bytes_day is not None]
        return max(saved, default=0.0) * self.read.replicas


class AuditReport(Record):
    """Topics, those with the largest possible saving first.

    Attributes:
        at: Time of the report, in UTC.
        unread: Topics that could not be read, with Kafka's reasons.
    """

    at: str
    kafka: str
    seconds: float
    topics: tuple[AuditedTopic, ...]
    unread: tuple[Unread, ...]
