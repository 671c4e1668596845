"""Run the producer's repetitions on a testbed: one load at a time, guarded, and cleaned up after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Repetition, Sizing
from kafka_pareto.drivers.common.cluster_guard import ClusterGuard
from kafka_pareto.drivers.producer.attempt import attempt_repetition, duplicates_reason, request_for, sized_for
from kafka_pareto.drivers.producer.cost import bytes_in_topic, bytes_of_a_repetition
from kafka_pareto.drivers.producer.quantities import ProducerQuantities
from kafka_pareto.drivers.producer.sizing import sent_bytes, sizing_of
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.testbed import Testbed, create_topic
from kafka_pareto.kafka.end_offsets import EndOffsets
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, RepetitionRunner
from kafka_pareto.measurement.fingerprint import usable_cores
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits
from kafka_pareto.study.workload import SentTopic


class ProducerRunner(RepetitionRunner):
    """Run loads of one record size on one testbed."""

    def __init__(self, campaign: Campaign, case: str, testbed: Testbed, limits: MeasuringLimits = LIMITS) -> None:
        self._campaign = campaign
        self._study = ProducerStudy.of(campaign.study)
        self._case = case
        self._testbed = testbed
        self.limits, self.lease = limits, testbed.lease
        self._end_offsets = EndOffsets(testbed.cluster, testbed.topic)
        self._topic = self._study.topics_of(case)[0]
        self._restarts_brokers = self._study.varies_brokers(case)
        self._bytes_to_delete = 0

    @cached_property
    def _sizing(self) -> Sizing:
        """Size the repetitions, unless an earlier attempt or step has done so."""
        return sizing_of(self._campaign, self._case, self._testbed)

    @cached_property
    def _guard(self) -> ClusterGuard:
        _ = self._sizing  # first, to count the bytes of its loads
        cluster, topic = self._testbed.cluster, self._testbed.topic
        return ClusterGuard(self._study, cluster, topic, sent_bytes(self._campaign), self.limits)

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:
        """Wait for a healthy cluster with room for these repetitions."""
        self._guard.wait_until_healthy(self._bytes_before_deletion(planned))

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> Repetition | None:
        """Prepare for the next load; return the last repetition amended if some of its records came late."""
        if self._bytes_to_delete > self.limits.delete_within_block_bytes:
            self._delete_records()
        late_records = self._end_offsets.begin()
        if self._restarts_brokers and self._testbed.brokers is not None:
            self._testbed.brokers.reconfigure(self._study.broker_properties(planned.candidate.configuration))
            self._guard.wait_until_healthy()
            self._end_offsets.begin()
        self._lay_out(self._study.topic_of(planned.candidate.configuration))
        self._guard.begin()
        return _amended(last, late_records)

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Run the load that `begin` prepared, and judge the outcome."""
        testbed, healthy = self._testbed, self._guard.begun()
        case, configuration = planned.case, planned.candidate.configuration
        payload_file = testbed.payloads.file_of(self._study.load_of(case, configuration))
        request = request_for(case, configuration, self._study, self._sizing, testbed.topic, payload_file)
        self._guard.allow(request.records * request.record_size_bytes)
        attempt, result = attempt_repetition(
            request,
            testbed,
            self._guard,
            healthy,
            self._end_offsets,
            usable_cores(),
            self._study.faults_of(configuration),
            self._study.fault_times,
        )
        sent = result.records_attempted if result else request.records
        self._guard.count((sent - request.records) * request.record_size_bytes)
        self._bytes_to_delete += sent * request.record_size_bytes
        return attempt

    def require_unharmed(self) -> None:
        """Refuse a cluster with an offline log directory."""
        self._guard.require_log_dirs()

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:
        """Delete all records if they fill a segment; not after each repetition of an order without blocks."""
        if len(block) > 1 and self._bytes_to_delete >= self.limits.delete_after_block_bytes:
            self._delete_records()

    def amended(self, last: Repetition) -> Repetition | None:
        """Return the last repetition amended if some of its records came late."""
        return _amended(last, self._end_offsets.late_records())

    def end(self) -> None:
        """Delete the loads' records."""
        self._delete_records()

    def _lay_out(self, topic: SentTopic) -> None:
        """Replace the topic by one with other partitions or replicas, if the load needs it."""
        if topic == self._topic:
            return
        cluster, name = self._testbed.cluster, self._testbed.topic
        cluster.delete_topic(name)
        create_topic(cluster, name, topic, bytes_of_a_repetition(self._study, self._case))
        self._topic, self._bytes_to_delete = topic, 0
        self._end_offsets = EndOffsets(cluster, name)
        self._guard.forget_topic()
        self._guard.wait_until_healthy()
        self._end_offsets.begin()

    def _bytes_of(self, planned: PlannedRepetition) -> int:
        case, configuration = planned.case, planned.candidate.configuration
        load = self._study.load_of(case, configuration)
        return sized_for(case, configuration, self._study, self._sizing).records * load.record_size_bytes

    def _delete_records(self) -> None:
        if self._bytes_to_delete:
            self._testbed.cluster.delete_records(self._testbed.topic)
            self._bytes_to_delete = 0

    def _bytes_before_deletion(self, planned: Sequence[PlannedRepetition]) -> int:
        load_bytes = max(self._bytes_of(each) for each in planned)
        most_bytes = min(len(planned) * load_bytes, self.limits.delete_within_block_bytes + load_bytes)
        return min(most_bytes, bytes_in_topic(self._topic, load_bytes))


def _amended(last: Repetition | None, late_records: int) -> Repetition | None:
    """Return the repetition with duplicate records, the surplus having come late; None if none came late."""
    growth = None if last is None else ProducerQuantities.of(last.quantities).end_offset_growth
    if last is None or growth is None or not late_records:
        return None
    return last.with_values(
        {
            "outcome": "records_duplicated",
            "reason": duplicates_reason(late_records),
            "end_offset_growth": growth + late_records,
        }
    )
