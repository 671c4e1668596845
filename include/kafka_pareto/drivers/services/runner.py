"""Run repetitions, one topology at a time."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_hex

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.drivers.services.attempt import attempt_orders
from kafka_pareto.drivers.services.orders import find_capacity
from kafka_pareto.drivers.services.programs.hospital import Asked
from kafka_pareto.drivers.services.studies import CompareServices
from kafka_pareto.drivers.services.testbed import OpenTopology, ServicesTestbed
from kafka_pareto.errors import ClusterError, LoadStartError, LoadToolError
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.driver_runtime import Attempt, RepetitionRunner
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits


class ServicesRunner(RepetitionRunner):
    """Run the repetitions of one part."""

    def __init__(self, study: CompareServices, testbed: ServicesTestbed, limits: MeasuringLimits = LIMITS) -> None:
        self._study = study
        self._testbed = testbed
        self.limits, self.lease = limits, testbed.lease

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:  # noqa: ARG002
        """End the services, so a repeated block also starts with empty topics."""
        self._testbed.end_services()

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> None:  # noqa: ARG002
        """Start the repetition's topology if another one runs, and determine the requested rate."""
        configuration = planned.candidate.configuration
        try:
            self._testbed.ensure_capacity(configuration, self._capacity_of)
            self._testbed.topology_for(configuration)
        except (LoadStartError, LoadToolError) as error:
            raise ClusterError(str(error)) from error

    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Run the orders on the topology that `begin` started."""
        try:
            return attempt_orders(planned, self._study, self._testbed)
        except (LoadStartError, LoadToolError) as error:  # a process has ended since `begin`
            raise ClusterError(str(error)) from error

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:  # noqa: ARG002
        """End the services; each block starts its own, with empty topics."""
        self._testbed.end_services()

    def _capacity_of(self, opened: OpenTopology) -> float:
        """Search a topology's highest sustainable rate.

        Raises:
            CapacityError: If it does not sustain one order per second.
            LoadToolError: If a service exits by itself.
        """
        asked = Asked(f"capacity.{token_hex(4)}", 1, timeout_s=self._study.protocol.timeout_s)
        found = find_capacity(opened, asked, self._study.protocol.capacity, self._testbed.guesses_orders_s)
        return found.asked.rate_s
