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
        upsets: Further attempts that left the cluster otherwise than it was before: a leader had moved, or it was in
            trouble. They were repeated, or their block was set aside, so that no value is among the measured ones.
        repeated: Valid ones that needed another attempt, for a cause that the configuration cannot have.
        generator_bound: Valid ones of the fresh blocks in which the load tool, not Kafka, set the pace.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    repetitions: int | None
    lost_records: int
    failed: int
    upsets: int = 0
    repeated: int = 0
    generator_bound: int = 0

    @property
    def tries(self) -> int | None:
        """Counts the repetitions and the further attempts; None where it is not known how many were measured."""
        return None if not self.repetitions else self.repetitions + self.upsets

    @property
    def bad(self) -> int:
        """Counts the tries that failed or upset the cluster."""
        return self.failed + self.upsets

    @property
    def largest_failure_fraction(self) -> float | None:
        """Returns the upper 95 % bound of the share that is bad; None where it is not known how many were measured."""
        return None if self.tries is None else largest_failure_fraction(self.bad, self.tries)

    def failing_more_p_value(self, reference: Counts) -> float | None:
        """Returns the exact p-value of being bad no more often than the reference; None where it cannot be told."""
        if self.tries is None or reference.tries is None:
            return None
        return failing_more_p_value(self.bad, self.tries, reference.bad, reference.tries)


def counts_of(
    configuration_id: str,
    repetitions: Sequence[Repetition],
    generator_bound: int = 0,
    set_aside: Sequence[Repetition] = (),
) -> Counts:
    """Counts the repetitions of this configuration among these, and its upsets among those set aside as well."""
    own = [r for r in repetitions if r.configuration_id == configuration_id]
    aside = [r for r in set_aside if r.configuration_id == configuration_id]
    return Counts(
        repetitions=len(own),
        lost_records=sum(r.outcome in ("records_lost", "records_duplicated") for r in own),
        failed=sum(r.outcome == "failed" for r in own),
        upsets=sum(r.upsets for r in [*own, *aside]),
        repeated=sum(r.outcome == "valid" and r.attempts - r.upsets > 1 for r in own),
        generator_bound=generator_bound,
    )
