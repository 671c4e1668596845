"""Count the outcomes of one configuration's repetitions in a confirmation."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.analysis.failures import failing_more_p_value, largest_failure_fraction
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.storage.record import Frozen


class Counts(Frozen):
    """Outcomes of one configuration's repetitions, in all blocks of its confirmation.

    Attributes:
        repetitions: None in decisions made before this field existed.
        failed: Failed repetitions, unless the configuration cannot have caused it.
        upsets: Other attempts in which a leader moved or after which the cluster was unhealthy; they were repeated, or
            their block was rejected. One that also lost records counts only as a lost repetition.
        repeated: Valid ones that needed another attempt for a reason unrelated to the configuration.
        generator_bound: Valid ones of the fresh blocks in which the load generator was the bottleneck.
    """

    repetitions: int | None
    lost_records: int
    failed: int
    upsets: int = 0
    repeated: int = 0
    generator_bound: int = 0

    @property
    def attempts(self) -> int | None:
        """Count repetitions and upsets; None if the number measured is unknown."""
        return None if not self.repetitions else self.repetitions + self.upsets

    @property
    def failed_or_upset(self) -> int:
        """Count the attempts that failed or upset the cluster."""
        return self.failed + self.upsets

    @property
    def largest_failure_fraction(self) -> float | None:
        """Return the upper 95 % bound of the share of attempts that fail or upset; None if `attempts` is None."""
        return None if self.attempts is None else largest_failure_fraction(self.failed_or_upset, self.attempts)

    def failing_more_p_value(self, reference: Counts) -> float | None:
        """Return the exact p-value of failing or upsetting no more often than the reference; None if unknown."""
        if self.attempts is None or reference.attempts is None:
            return None
        return failing_more_p_value(self.failed_or_upset, self.attempts, reference.failed_or_upset, reference.attempts)


def counts_of(
    configuration_id: str,
    repetitions: Sequence[Repetition],
    generator_bound: int = 0,
    discarded: Sequence[Repetition] = (),
) -> Counts:
    """Count this configuration's repetitions, and its upsets including those in rejected blocks."""
    own = [r for r in repetitions if r.configuration_id == configuration_id]
    rejected = [r for r in discarded if r.configuration_id == configuration_id]
    return Counts(
        repetitions=len(own),
        lost_records=sum(r.outcome in ("records_lost", "records_duplicated") for r in own),
        failed=sum(r.outcome == "failed" for r in own),
        upsets=sum(min(r.upsets, r.attempts - 1) for r in own) + sum(r.upsets for r in rejected),
        repeated=sum(r.outcome == "valid" and r.attempts - r.upsets > 1 for r in own),
        generator_bound=generator_bound,
    )
