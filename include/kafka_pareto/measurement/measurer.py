"""Measuring: runs planned repetitions in order, and stores each before the next begins.

A repetition counts when the tool sent what it was asked to, the topic's end offsets grew by as many, and its values do
not contradict each other. What is stored already is not measured again; a block during which the cluster was in
trouble is.
"""

from __future__ import annotations

import logging
import time

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.plausibility import PlausibilityRules
from kafka_pareto.campaign.records import Repetition, Sizing
from kafka_pareto.errors import ClusterError, DisturbedError, SafetyStop
from kafka_pareto.measurement.attempt import Attempt, duplicates_reason
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits
from kafka_pareto.measurement.load_runner import LoadRunner
from kafka_pareto.measurement.phase import Block, MeasurementPhase
from kafka_pareto.measurement.testbed import Testbed
from kafka_pareto.study.producer_quantities import ProducerQuantities
from kafka_pareto.study.protocol import Protocol

log = logging.getLogger(__name__)


class Measurer:
    """Measures phases of one record size on one testbed."""

    def __init__(self, campaign: Campaign, testbed: Testbed, sizing: Sizing, limits: MeasuringLimits = LIMITS) -> None:
        self._protocol = campaign.study.protocol
        self._loads = LoadRunner(campaign, testbed, sizing, limits)
        self._rules = PlausibilityRules(campaign.study)

    def measure(self, phase: MeasurementPhase) -> list[Repetition]:
        """Measures what is planned and not yet stored, one object per repetition.

        Returns:
            All of the phase's repetitions in the order of their ids: those that were stored before, too.

        Raises:
            ClusterError: If the cluster is in trouble and stays so.
            DisturbedError: If something else keeps taking more of the machine than the study allows.
            SafetyStop: If a cluster that is not ours was harmed, a quota throttled, or a right is missing.
            PlanError: If the ceiling is reached.
            GateError: If more of the design phase has failed than the study tolerates.
            StoreError: If a finished repetition cannot be stored, even after some minutes.
            LeaseHeldError: If the lease was lost.
        """
        phase.require_few_failures()
        measurement = _PhaseMeasurement(phase, self._loads, self._rules, self._protocol)
        for block in phase.blocks():
            measurement.measure_block(block)
            if phase.may_end_early:  # what follows is decided by records in their last form
                measurement.end()
        measurement.end()
        return phase.repetitions()


class _PhaseMeasurement:
    """One passage through a phase."""

    def __init__(
        self, phase: MeasurementPhase, loads: LoadRunner, rules: PlausibilityRules, protocol: Protocol
    ) -> None:
        self._phase = phase
        self._loads = loads
        self._rules = rules
        self._protocol = protocol
        self._unconfirmed: Repetition | None = None

    def measure_block(self, block: Block) -> None:
        """Measures what is missing of a block; all of it again if there is trouble meanwhile."""
        if self._phase.is_partly_aside(block):  # by a task that was killed
            self._set_block_aside(block)
        for _ in range(self._protocol.max_attempts):
            missing = self._phase.missing(block)
            if not missing:
                return
            self._loads.wait_until_healthy(missing)
            try:
                for planned in missing:
                    self._measure_one(planned)
                self._loads.require_log_dirs()
            except (ClusterError, DisturbedError, SafetyStop) as error:
                self._set_block_aside(block)
                if isinstance(error, SafetyStop):
                    raise
                trouble = error
                log.warning("block %d is set aside, to be measured again: %s", block[0].block, trouble)
            else:
                if len(block) > 1:
                    self._loads.delete_full_segments()
                return
        raise type(trouble)(
            f"block {block[0].block} was begun {self._protocol.max_attempts} times (protocol.max_attempts), and could "
            f"never be measured to its end, at last because {trouble}"
        ) from trouble

    def end(self) -> None:
        """Amends the last repetition if its records came late, and deletes what the loads have left."""
        if self._unconfirmed:
            self._confirm_last(self._loads.late_records())
        self._loads.delete_records()

    def _measure_one(self, planned: PlannedRepetition) -> None:
        for attempts in range(1, self._protocol.max_attempts + 1):
            time.sleep(self._protocol.cool_down_s)  # the pause is part of the protocol
            attempt = self._attempt(planned)
            measured = self._loads.repetition(planned, attempt, attempts)
            if attempt.trouble:
                self._phase.set_aside(measured)
                raise attempt.trouble
            if attempt.outcome != "failed":
                break
            log.warning("%s: attempt %d failed: %s", planned.repetition_id, attempts, attempt.reason)
            if attempt.is_outlier:
                self._loads.wait_until_undisturbed()
        if attempt.is_outlier:  # no fault of the configuration, against which it must not count
            self._phase.set_aside(measured)
            raise DisturbedError(f"{planned.repetition_id} was disturbed again and again: {attempt.reason}")
        measured = self._rules.with_implausible_failed(measured)
        if measured.broken_rules:
            log.warning("%s counts as failed for implausible values: %s", planned.repetition_id, measured.reason)
        elif measured.reason and measured.outcome == "valid":
            log.warning("%s: %s", planned.repetition_id, measured.reason)
        self._phase.keep(measured)
        self._unconfirmed = measured if measured.outcome == "valid" else None

    def _attempt(self, planned: PlannedRepetition) -> Attempt:
        self._confirm_last(self._loads.begin())
        return self._loads.attempt(planned)

    def _set_block_aside(self, block: Block) -> None:
        if self._unconfirmed and self._unconfirmed.repetition_id in {planned.repetition_id for planned in block}:
            self._unconfirmed = None
        self._phase.set_block_aside(block)

    def _confirm_last(self, late_records: int) -> None:
        """Amends the repetition stored last if its records arrived more than once, the surplus late."""
        last, self._unconfirmed = self._unconfirmed, None
        growth = None if last is None else ProducerQuantities.of(last.quantities).end_offset_growth
        if last is None or growth is None or not late_records:
            return
        log.warning("%s: %s, late", last.repetition_id, duplicates_reason(late_records))
        self._phase.amend(
            last.with_values(
                {
                    "outcome": "records_duplicated",
                    "reason": duplicates_reason(late_records),
                    "end_offset_growth": growth + late_records,
                }
            )
        )
