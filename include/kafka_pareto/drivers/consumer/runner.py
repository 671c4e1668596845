"""Run repetitions of groups of consumers on a testbed, one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.common.cluster_guard import ClusterGuard
from kafka_pareto.drivers.consumer.attempt import attempt_reading
from kafka_pareto.drivers.consumer.studies import CompareConsumer
from kafka_pareto.drivers.consumer.testbed import ConsumerTestbed
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, RepetitionRunner


class ConsumerRunner(RepetitionRunner):
    """Run the repetitions of one part."""

    def __init__(self, study: CompareConsumer, case: str, testbed: ConsumerTestbed) -> None:
        self._study = study
        self._testbed = testbed
        self.lease = testbed.lease
        self._guard = ClusterGuard(study, testbed.cluster, testbed.topic)
        self._restarts_brokers = study.varies_brokers(case)

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:
        """Wait for a healthy cluster with room for the live records."""
        self._guard.wait_until_healthy(round(self._study.live_bytes * len(planned)))

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> None:  # noqa: ARG002
        """Prepare for the next reading; restart the study's own brokers if levels need it."""
        if self._restarts_brokers and self._testbed.brokers is not None:
            self._testbed.brokers.reconfigure(self._study.broker_properties(planned.candidate.configuration))
            self._guard.wait_until_healthy()
        self._guard.begin()

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Let the group read, and judge the outcome."""
        healthy = self._guard.begun()
        return self._guard.judged(attempt_reading(planned, self._study, self._testbed), healthy)

    def require_unharmed(self) -> None:
        """Refuse a cluster with an offline log directory."""
        self._guard.require_log_dirs()

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:  # noqa: ARG002
        """Delete the records of the live parts."""
        if self._study.protocol.live is not None:
            self._testbed.cluster.delete_records(self._testbed.live_topic)
