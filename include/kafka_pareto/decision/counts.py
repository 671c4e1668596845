"""Counts what became of one configuration's repetitions in a confirmation."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from kafka_pareto.analysis.failures import failing_more_p_value, largest_failure_fraction
from kafka_pareto.campaign.records import Repetition


class Counts(BaseModel):
    """Holds the repetitions of one configuration, in all blocks of its confirmation.

    Attributes:
        repetitions: How many were measured; None in decisions from before this was kept.
        lost_records: Those that lost or duplicated records.
        failed: Those that failed. A failure counts unless the configuration cannot have caused it.
        repeated: Valid ones that needed more than one attempt, for a cause that the configuration cannot have.
        generator_bound: Valid ones of the fresh blocks in which the load tool, not Kafka, set the pace.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    repetitions: int | None
    lost_records: int
    failed: int
    repeated: int = 0
    generator_bound: int = 0

    @property
    def largest_failure_fraction(self) -> float | None:
        """Returns the upper 95 % bound of the share that fails; None where it is not known how many were measured."""
        return None if not self.repetitions else largest_failure_fraction(self.failed, self.repetitions)

    def failing_more_p_value(self, reference: Counts) -> float | None:
        """Returns the exact p-value of failing no more often than the reference; None where it cannot be told."""
        if not self.repetitions or not reference.repetitions:
            return None
        return failing_more_p_value(self.failed, self.repetitions, reference.failed, reference.repetitions)


def counts_of(configuration_id: str, repetitions: Sequence[Repetition], generator_bound: int = 0) -> Counts:
    """Counts the repetitions of this configuration among these."""
    own = [r for r in repetitions if r.configuration_id == configuration_id]
    return Counts(
        repetitions=len(own),
        lost_records=sum(r.outcome in ("records_lost", "records_duplicated") for r in own),
        failed=sum(r.outcome == "failed" for r in own),
        repeated=sum(r.outcome == "valid" and r.attempts > 1 for r in own),
        generator_bound=generator_bound,
    )
