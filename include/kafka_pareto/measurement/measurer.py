"""Run planned repetitions in order, and store each before the next begins.

A repetition counts if its driver says so and its values are consistent. Stored ones are not measured again, except in a
block during which the cluster was in trouble. A failure counts against its configuration, unless that cannot be the
cause.
"""

from __future__ import annotations

import logging
import time

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.plausibility import PlausibilityRules
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.errors import ClusterError, DisturbedError, SafetyStop
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, RepetitionRunner, repetition_of
from kafka_pareto.measurement.host_load import judged_by_machine, wait_until_undisturbed
from kafka_pareto.measurement.phase import Block, MeasurementPhase
from kafka_pareto.storage.lease import require_ours
from kafka_pareto.study.study import Study

log = logging.getLogger(__name__)


class Measurer:
    """Measure phases of one case, with the runner of the study's driver."""

    _phase: MeasurementPhase

    def __init__(self, study: Study, runner: RepetitionRunner) -> None:
        self._protocol = study.protocol
        self._runner = runner
        self._rules = PlausibilityRules(study)
        self._unconfirmed: Repetition | None = None

    def measure(self, phase: MeasurementPhase) -> list[Repetition]:
        """Measure the planned repetitions that are not stored, and store each as one object.

        Returns:
            All of the phase's repetitions by ID, earlier ones included.

        Raises:
            ClusterError: If the cluster stays unhealthy.
            DisturbedError: If others keep using more of the machine than the study allows.
            SafetyStop: If a foreign cluster was harmed, a quota throttled, or a right is missing.
            PlanError: If the ceiling is reached.
            GateError: If more of the design phase has failed than the study tolerates.
            StoreError: If a finished repetition cannot be stored, even after minutes of retries.
            LeaseHeldError: If the lease was lost.
        """
        phase.require_few_failures()
        self._phase, self._unconfirmed = phase, None
        for block in phase.blocks():
            self._measure_block(block)
            if phase.may_end_early:  # the next decision needs the records in their final form
                self._amend_last()
        self._amend_last()
        self._runner.end()
        return phase.repetitions()

    def _measure_block(self, block: Block) -> None:
        """Measure a block's missing repetitions; all of it again after trouble."""
        if self._phase.store.is_partly_discarded(block):  # a task was killed meanwhile
            self._discard_block(block)
        for _ in range(self._protocol.max_attempts):
            missing = self._phase.missing(block)
            if not missing:
                return
            self._runner.wait_until_ready(missing)
            try:
                for planned in missing:
                    self._measure_one(planned)
                self._runner.require_unharmed()
            except (ClusterError, DisturbedError, SafetyStop) as error:
                self._discard_block(block)
                if isinstance(error, SafetyStop):
                    raise
                trouble = error
                log.warning("block %d is rejected and will be measured again: %s", block[0].block, trouble)
            else:
                self._runner.end_block(block)
                return
        raise type(trouble)(
            f"block {block[0].block} could not be completed in {counted(self._protocol.max_attempts, 'attempt')} "
            f"(protocol.max_attempts); last cause: {trouble}"
        ) from trouble

    def _amend_last(self) -> None:
        """Amend the last repetition if new facts about it were found."""
        if self._unconfirmed is not None:
            self._amend(self._runner.amended(self._unconfirmed))

    def _measure_one(self, planned: PlannedRepetition) -> None:
        upsets = 0
        for attempts in range(1, self._protocol.max_attempts + 1):
            time.sleep(self._protocol.cool_down_s)  # the pause is part of the protocol
            attempt = self._attempt(planned)
            upsets += attempt.upsets
            measured = repetition_of(planned, attempt, attempts, upsets)
            if attempt.trouble:
                self._phase.store.discard(measured)
                raise attempt.trouble
            if not attempt.is_excused:
                break
            log.warning("%s: attempt %d was disturbed: %s", planned.repetition_id, attempts, attempt.reason)
            wait_until_undisturbed(self._protocol.outliers, self._runner.limits)
        if attempt.is_excused:  # the configuration may not be the cause: count the upset, not a failure
            self._phase.store.discard(measured)
            raise DisturbedError(f"{planned.repetition_id}: every attempt was disturbed; last cause: {attempt.reason}")
        measured = self._rules.with_implausible_failed(measured)
        if measured.broken_rules:
            log.warning("%s counts as failed because of implausible values: %s", planned.repetition_id, measured.reason)
        elif measured.reason:
            log.warning("%s: %s", planned.repetition_id, measured.reason)
        self._phase.keep(measured)
        self._unconfirmed = measured if measured.outcome == "valid" else None

    def _attempt(self, planned: PlannedRepetition) -> Attempt:
        """Attempt a repetition while the lease is held, which excludes other loads.

        Raises:
            LeaseHeldError: If it was lost.
        """
        lease = self._runner.lease
        if lease:
            require_ours(lease.is_held())
        self._amend(self._runner.begin(self._unconfirmed, planned))
        attempt = self._runner.attempt(planned)
        if lease:
            require_ours(lease.renew())
        return judged_by_machine(attempt, self._protocol.outliers)

    def _discard_block(self, block: Block) -> None:
        if self._unconfirmed and self._unconfirmed.repetition_id in {planned.repetition_id for planned in block}:
            self._unconfirmed = None
        self._phase.store.discard_block(block)

    def _amend(self, amended: Repetition | None) -> None:
        """Store an amendment of the last stored repetition."""
        self._unconfirmed = None
        if amended is not None:
            log.warning("%s: found later: %s", amended.repetition_id, amended.reason)
            self._phase.store.put(amended)
