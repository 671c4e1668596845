"""Runs the loads of planned repetitions on a testbed: one at a time, guarded, and cleaned up after."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Repetition, Sizing
from kafka_pareto.errors import LeaseHeldError
from kafka_pareto.kafka.cluster import TopicHealth
from kafka_pareto.kafka.end_offsets import EndOffsets
from kafka_pareto.measurement.attempt import Attempt, attempt_repetition, repetition_of, request_for
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.cluster_guard import ClusterGuard
from kafka_pareto.measurement.host_load import wait_until_undisturbed
from kafka_pareto.measurement.limits import MeasuringLimits
from kafka_pareto.measurement.repetition_store import sent_bytes
from kafka_pareto.measurement.testbed import Testbed


class LoadRunner:
    """Runs loads of one record size on one testbed. A load is prepared by `begin`, then sent by `attempt`."""

    def __init__(self, campaign: Campaign, testbed: Testbed, sizing: Sizing, limits: MeasuringLimits) -> None:
        self._study = campaign.producer
        self._testbed = testbed
        self._sizing = sizing
        self._limits = limits
        self._guard = ClusterGuard(campaign.producer, testbed, sent_bytes(campaign), limits)
        self._end_offsets = EndOffsets(testbed.cluster, testbed.topic)
        self._healthy: TopicHealth | None = None
        self._bytes_to_delete = 0

    def wait_until_healthy(self, planned: Sequence[PlannedRepetition]) -> None:
        """Waits for a cluster that is healthy and has room for these repetitions.

        Raises:
            ClusterError: If it does not recover in time.
            SafetyStop: If this user may not look.
        """
        self._guard.wait_until_healthy(self._bytes_before_deletion(planned))

    def require_log_dirs(self) -> None:
        """Refuses a cluster of which a log directory is offline.

        Raises:
            ClusterError: Naming the directory and its broker.
            SafetyStop: If this user may not look.
        """
        self._guard.require_log_dirs()

    def wait_until_undisturbed(self) -> None:
        """Waits for the rest of the machine to keep within the study's outlier rule, for a limited time."""
        wait_until_undisturbed(self._study.protocol.outliers, self._limits)

    def begin(self) -> int:
        """Prepares for the next load.

        Returns:
            How many records of the load before it came late.

        Raises:
            LeaseHeldError: If the lease was lost.
            ClusterError: If the cluster is in trouble.
            SafetyStop: If this user may not look.
        """
        self._require_lease()
        if self._bytes_to_delete > self._limits.delete_within_block_bytes:
            self.delete_records()
        self._healthy = self._guard.require_healthy()
        return self._end_offsets.begin()

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Sends the load that `begin` prepared for, and judges what came of it.

        Raises:
            PlanError: If the ceiling of a cluster that is not ours is reached.
            LeaseHeldError: If the lease was lost meanwhile: another load may have run beside this one.
        """
        if self._healthy is None:
            raise RuntimeError("begin() comes before attempt()")
        testbed, healthy, self._healthy = self._testbed, self._healthy, None
        request = request_for(planned, self._study, self._sizing, testbed.topic, testbed.payload_file)
        self._guard.allow(request.records * request.record_size_bytes)
        outliers = self._study.protocol.outliers
        attempt = attempt_repetition(request, testbed, self._guard, healthy, self._end_offsets, outliers)
        self._require_lease()
        sent = attempt.result.records_attempted if attempt.result else request.records
        self._bytes_to_delete += sent * request.record_size_bytes
        return attempt

    def repetition(self, planned: PlannedRepetition, attempt: Attempt, attempts: int) -> Repetition:
        """Returns the record of a repetition whose last attempt is given."""
        return repetition_of(planned, attempt, attempts, self._study, self._sizing)

    def late_records(self) -> int:
        """Returns how many records of the last load came late, where no other load follows."""
        return self._end_offsets.late_records()

    def delete_full_segments(self) -> None:
        """Deletes all records if they fill a segment."""
        if self._bytes_to_delete >= self._limits.delete_after_block_bytes:
            self.delete_records()

    def delete_records(self) -> None:
        """Deletes what the loads so far have left."""
        if self._bytes_to_delete:
            self._testbed.cluster.delete_records(self._testbed.topic)
            self._bytes_to_delete = 0

    def _require_lease(self) -> None:
        if not self._testbed.lease.is_held():
            raise LeaseHeldError("the lease on the cluster was lost; the task's next try goes on from here")

    def _bytes_before_deletion(self, planned: Sequence[PlannedRepetition]) -> int:
        load_bytes = max(self._sizing.records * self._study.record_size_bytes(each.case) for each in planned)
        return min(len(planned) * load_bytes, self._limits.delete_within_block_bytes + load_bytes)
