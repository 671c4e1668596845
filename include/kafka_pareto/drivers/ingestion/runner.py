"""Run repetitions of ingestions on a testbed, one at a time."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.common.cluster_guard import ClusterGuard
from kafka_pareto.drivers.common.warming import pace_when_warm
from kafka_pareto.drivers.ingestion.attempt import attempt_ingestion, send
from kafka_pareto.drivers.ingestion.rows_files import row_bytes, sent_rows_of
from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.drivers.ingestion.testbed import IngestionTestbed
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, RepetitionRunner

log = logging.getLogger(__name__)

_WARMING_ROWS = 500_000
_MOST_WARMING_LOADS = 8


class IngestionRunner(RepetitionRunner):
    """Run the repetitions of one part."""

    def __init__(self, study: CompareIngestion, case: str, testbed: IngestionTestbed) -> None:
        self._study = study
        self._testbed = testbed
        self.lease = testbed.lease
        self._guard = ClusterGuard(study, testbed.cluster, testbed.topic)
        self._restarts_brokers = study.varies_brokers(case)
        self._warms_up = study.own_brokers is not None and not self._restarts_brokers
        self._reference = study.baseline_configuration(case)

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:
        """Wait for a healthy cluster with room for one of these repetitions."""
        rows = max(sent_rows_of(self._study, each.candidate.configuration) for each in planned)
        self._guard.wait_until_healthy(round(rows * row_bytes(self._study)))

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> None:  # noqa: ARG002
        """Recreate the topic for the next repetition; restart the study's own brokers if levels need it."""
        configuration = planned.candidate.configuration
        if self._warms_up:
            self._warm_up()
        if self._restarts_brokers and self._testbed.brokers is not None:
            self._testbed.brokers.reconfigure(self._study.broker_properties(configuration))
        self._testbed.files.rows_of_level(configuration)
        self._testbed.new_topic(self._study.partitions(configuration))
        self._guard.wait_until_healthy()
        self._guard.begin()

    def _warm_up(self) -> None:
        """Send the reference until its rate stops rising, because new brokers are slow until their code is compiled."""
        self._warms_up = False
        study, testbed, reference = self._study, self._testbed, self._reference
        file = testbed.files.file_of(reference)
        if study.workload.file is None:
            file = testbed.files.books(min(study.rows(reference), _WARMING_ROWS))
        rows = testbed.files.rows_of(file).rows

        def load(_best: float) -> float:
            testbed.new_topic(study.partitions(reference))
            figures = send(reference, study, testbed, file, rows, warmup_rows=0).figures
            return figures.rows_s if figures else 0.0

        log.info("the new brokers are warmed up: %.0f rows/s", pace_when_warm(load, _MOST_WARMING_LOADS))

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Send the file to the topic that `begin` created, and judge the outcome."""
        healthy = self._guard.begun()
        return self._guard.judged(attempt_ingestion(planned, self._study, self._testbed), healthy)

    def require_unharmed(self) -> None:
        """Refuse a cluster with an offline log directory."""
        self._guard.require_log_dirs()
