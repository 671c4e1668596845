"""Measuring: runs planned repetitions one after another, and believes none that does not add up.

The rules are those of the design's "Measuring": a repetition counts when the tool sent what it was asked to and the
topic's end offsets grew by as many; it is in the store before the next begins; what is there already is not measured
again; a block during which the cluster was in trouble is.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import groupby

import psutil

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Repetition, Sizing
from kafka_pareto.errors import ClusterError, DisturbedError, LeaseHeldError, SafetyStop
from kafka_pareto.kafka.end_offsets import EndOffsets
from kafka_pareto.load.client_bottleneck import generator_bound
from kafka_pareto.load.tool import ClientMetrics, Figures
from kafka_pareto.measurement.attempt import Attempt, attempt_repetition, duplicates_reason, mib_s, request_for
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.cluster_guard import ClusterGuard
from kafka_pareto.measurement.failure_limit import FailureLimit
from kafka_pareto.measurement.host_load import wait_until_undisturbed
from kafka_pareto.measurement.progress_log import PhaseProgress
from kafka_pareto.measurement.repetition_store import Shelf, sent_bytes
from kafka_pareto.measurement.testbed import SEGMENT_BYTES, Testbed

log = logging.getLogger(__name__)

_MIB = 1 << 20
DELETE_RECORDS_AFTER_BYTES = 512 * _MIB


class Measurer:
    """Measures planned repetitions of one record size on one testbed."""

    def __init__(self, campaign: Campaign, testbed: Testbed, sizing: Sizing) -> None:
        self._campaign = campaign
        self._study = campaign.study
        self._protocol = campaign.study.protocol
        self._testbed = testbed
        self._sizing = sizing
        self._guard = ClusterGuard(campaign.study, testbed, sent_bytes(campaign))
        self._end_offsets = EndOffsets(testbed.cluster, testbed.topic)
        self._failures: FailureLimit | None = None
        self._unconfirmed: Repetition | None = None
        self._bytes_to_delete = 0

    def measure(self, planned: Sequence[PlannedRepetition], prefix: str, progress: PhaseProgress | None = None) -> None:
        """Measures what is planned and not yet stored below `prefix`, one object per repetition.

        `progress` is that of the whole phase, where `planned` is a part of it.

        Raises:
            ClusterError: If the cluster is in trouble and stays so.
            DisturbedError: If something else keeps taking more of the machine than the study allows.
            SafetyStop: If a cluster that is not ours was harmed, a quota throttled, or a right is missing.
            PlanError: If the ceiling is reached.
            GateError: If more of the design phase has failed than the study tolerates.
            StoreError: If a finished repetition cannot be stored, even after some minutes.
            LeaseHeldError: If the lease was lost.
        """
        shelf, progress = Shelf(self._campaign, prefix), progress or PhaseProgress(planned)
        if self._failures is None and planned and planned[0].phase == "design":
            self._failures = FailureLimit(self._campaign, planned[0].round_number)
            self._failures.check()
        # In order `sequential` neighbours differ in their block, so each is a block of its own.
        for _, block in groupby(planned, key=lambda repetition: repetition.block):
            self._measure_block(list(block), shelf, progress)
        if self._unconfirmed:
            self._confirm_last(shelf, self._end_offsets.late_records())
        self._delete_records()

    def _measure_block(self, block: list[PlannedRepetition], shelf: Shelf, progress: PhaseProgress) -> None:
        """Measures what is missing of a block; all of it anew if there is trouble meanwhile."""
        if shelf.is_partly_aside(block):  # by a task that was killed
            self._set_aside(block, shelf)
        for _ in range(self._protocol.max_attempts):
            missing = [repetition for repetition in block if not shelf.holds(repetition)]
            if not missing:
                return
            self._guard.wait_until_healthy(self._bytes_before_deletion(missing))
            try:
                for repetition in missing:
                    measured = self._measure_one(repetition, shelf)
                    progress.log(measured, shelf)
                self._guard.require_log_dirs()
            except (ClusterError, DisturbedError, SafetyStop) as error:
                self._set_aside(block, shelf)
                if isinstance(error, SafetyStop):
                    raise
                trouble = error
                log.warning("block %d is set aside, to be measured again: %s", block[0].block, trouble)
            else:
                # Deleting takes the brokers a third of a second, and frees whole segments only.
                if len(block) > 1 and self._bytes_to_delete >= SEGMENT_BYTES:
                    self._delete_records()
                return
        raise type(trouble)(
            f"block {block[0].block} was begun {self._protocol.max_attempts} times (protocol.max_attempts), and could "
            f"never be measured to its end, at last because {trouble}"
        )

    def _measure_one(self, planned: PlannedRepetition, shelf: Shelf) -> Repetition:
        for attempts in range(1, self._protocol.max_attempts + 1):
            time.sleep(self._protocol.cool_down_s)  # the pause is part of the protocol
            attempt = self._attempt(planned, shelf)
            measured = self._repetition(planned, attempt, attempts)
            if attempt.trouble:
                shelf.put_aside(measured)
                raise attempt.trouble
            if attempt.outcome != "failed":
                break
            log.warning("%s: attempt %d failed: %s", planned.repetition_id, attempts, attempt.reason)
            if attempt.is_outlier:
                wait_until_undisturbed(self._protocol.outliers)
        if attempt.is_outlier:  # no fault of the configuration, against which it must not count
            shelf.put_aside(measured)
            raise DisturbedError(f"{planned.repetition_id} was disturbed again and again: {attempt.reason}")
        if attempt.reason and attempt.outcome == "valid":
            log.warning("%s: %s", planned.repetition_id, attempt.reason)
        shelf.put(measured)
        self._unconfirmed = measured if measured.outcome == "valid" else None
        if self._failures is not None:
            self._failures.count(measured)
            self._failures.check()
        return measured

    def _set_aside(self, block: list[PlannedRepetition], shelf: Shelf) -> None:
        repetition_ids = {repetition.repetition_id for repetition in block}
        if self._unconfirmed and self._unconfirmed.repetition_id in repetition_ids:
            self._unconfirmed = None
        shelf.set_aside(block)
        if self._failures is not None:
            self._failures.forget(repetition_ids)

    def _attempt(self, planned: PlannedRepetition, shelf: Shelf) -> Attempt:
        self._require_lease()
        if self._bytes_to_delete > DELETE_RECORDS_AFTER_BYTES:
            self._delete_records()
        healthy = self._guard.require_healthy()
        self._confirm_last(shelf, self._end_offsets.begin())
        testbed = self._testbed
        request = request_for(planned, self._study, self._sizing, testbed.topic, testbed.payload_file)
        self._guard.allow(request.records * request.record_size_bytes)
        attempt = attempt_repetition(request, testbed, self._guard, healthy, self._end_offsets, self._protocol.outliers)
        self._require_lease()  # while it was lost, another load may have run beside this one
        sent = attempt.result.records_attempted if attempt.result else request.records
        self._bytes_to_delete += sent * request.record_size_bytes
        return attempt

    def _require_lease(self) -> None:
        if not self._testbed.lease.is_held():
            raise LeaseHeldError("the lease on the cluster was lost; the task's next try goes on from here")

    def _confirm_last(self, shelf: Shelf, late_records: int) -> None:
        """Amends the repetition stored last if its records arrived more than once, the surplus late."""
        last, self._unconfirmed = self._unconfirmed, None
        if last is None or last.end_offset_growth is None or not late_records:
            return
        log.warning("%s: %s, late", last.repetition_id, duplicates_reason(late_records))
        shelf.put(
            last.model_copy(
                update={
                    "outcome": "records_duplicated",
                    "reason": duplicates_reason(late_records),
                    "end_offset_growth": last.end_offset_growth + late_records,
                }
            )
        )

    def _bytes_before_deletion(self, repetitions: Sequence[PlannedRepetition]) -> int:
        load_bytes = max(
            self._sizing.records * self._study.record_size_bytes(repetition.case) for repetition in repetitions
        )
        return min(len(repetitions) * load_bytes, DELETE_RECORDS_AFTER_BYTES + load_bytes)

    def _delete_records(self) -> None:
        if self._bytes_to_delete:
            self._testbed.cluster.delete_records(self._testbed.topic)
            self._bytes_to_delete = 0

    def _repetition(self, planned: PlannedRepetition, attempt: Attempt, attempts: int) -> Repetition:
        result = attempt.result
        figures = result.figures if result else None
        measured = asdict(figures) if figures else dict.fromkeys(f.name for f in fields(Figures))
        client = asdict(result.client if result else ClientMetrics())
        return Repetition(
            repetition_id=planned.repetition_id,
            phase=planned.phase,
            round=planned.round_number,
            case=planned.case,
            configuration_id=planned.candidate.configuration_id,
            is_baseline=planned.candidate.is_baseline,
            configuration=planned.candidate.configuration,
            block=planned.block,
            order_in_block=planned.order_in_block,
            outcome=attempt.outcome,
            reason=attempt.reason,
            attempts=attempts,
            window="steady_state" if self._sizing.warmup_records or self._sizing.timed else "whole_run",
            started_at=attempt.started_at,
            records_requested=result.records_attempted if result else self._sizing.records,
            records_sent=result.records_sent if result else None,
            end_offset_growth=attempt.end_offset_growth,
            throughput_mib_s=figures and mib_s(figures, self._study.record_size_bytes(planned.case)),
            generator_bound=generator_bound(attempt.request, result, len(os.sched_getaffinity(0))) if result else "",
            wall_s=result.wall_s if result else 0.0,
            client_cpu_s=result.client_cpu_s if result else 0.0,
            load_1m=psutil.getloadavg()[0],
            cpu_steal_fraction=attempt.cpu_steal_fraction,
            other_cpu_fraction=attempt.other_cpu_fraction,
            **measured,
            **client,
        )
