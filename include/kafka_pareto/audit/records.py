"""The report of an audit: each topic as read, and what other settings would store."""

from __future__ import annotations

from kafka_pareto.audit.estimates import Prediction, Prices
from kafka_pareto.audit.reading import Topic, Unread
from kafka_pareto.storage.record import Frozen, Record


class AuditedTopic(Frozen):
    """A topic, and what other settings would change.

    Attributes:
        prediction: None for a topic without records.
        month_cost_of_daily_byte: Cost per month of one more stored byte a day; None without prices, or if the
            topic's retention is unlimited or unknown.
    """

    read: Topic
    prediction: Prediction | None
    month_cost_of_daily_byte: float | None = None

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
        study: The file of the study that was written; None if none was asked for.
    """

    at: str
    kafka: str
    seconds: float
    topics: tuple[AuditedTopic, ...]
    unread: tuple[Unread, ...]
    prices: Prices | None = None
    study: str | None = None
