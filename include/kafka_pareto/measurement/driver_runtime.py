"""A driver's measuring interface: its system, its costs, and a runner of one case's repetitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import cast

import psutil

from kafka_pareto.bottleneck.limiting_resource import LoadSetting
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Outcome, Plan, Repetition, Timeline
from kafka_pareto.errors import ClusterError, SafetyStop
from kafka_pareto.measurement.blocks import PlannedRepetition
from kafka_pareto.measurement.limits import LIMITS, MeasuringLimits
from kafka_pareto.settings import Settings
from kafka_pareto.storage.lease import Lease
from kafka_pareto.study.declarations import driver_module
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.quantity import Values
from kafka_pareto.study.study import Study


class System(ABC):
    """The system a study loads, before anything is sent."""

    @abstractmethod
    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:
        """Describe the current system and machine.

        Raises:
            ClusterError: If the system cannot be reached.
        """

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:  # noqa: B027
        """Refuse a plan that does not fit the system or the study's limits.

        Raises:
            PlanError: With the reason, both numbers and the fix.
            ClusterError: If the system cannot be reached.
        """


class DriverRuntime(ABC):
    """The running side of a driver; reading a study does not need it."""

    @abstractmethod
    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:
        """Compute the maximum cost of these repetitions.

        Args:
            study: Their study.
            repetitions: Their number by case.
            sized: Whether the repetitions are already sized; if not, the sizing loads are counted too.
        """

    @abstractmethod
    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open the study's system.

        Raises:
            BadInputError: If the settings name none.
        """

    def load_setting(self, campaign: Campaign, case: str, configuration: Configuration) -> LoadSetting | None:  # noqa: ARG002
        """Return the request of a measured repetition, for finding its bottleneck; None if not examined.

        Raises:
            ArtifactError: If the campaign has no stored sizing.
        """
        return None

    def fault_here(self, study: Study, settings: Settings, configuration: Configuration) -> str:  # noqa: ARG002
        """Return why this machine cannot measure a configuration, which excludes it; empty if it can."""
        return ""

    def load_machine_count(self, study: Study) -> int:  # noqa: ARG002
        """Return how many other machines send each load together; 0 if this one sends."""
        return 0

    def run_load_machine(self, campaign: Campaign, session: str, number: int, settings: Settings) -> None:
        """Send loads for the campaign from this machine, one of its load machines, until the session is stopped."""
        raise NotImplementedError

    @abstractmethod
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> AbstractContextManager[RepetitionRunner]:
        """Open the runner of one case's repetitions, with exclusive use of the system.

        Raises:
            BadInputError: If the campaign was begun on another system.
            ClusterError: If the system cannot be reached.
            LeaseHeldError: If another load runs on it.
        """


def runtime_of(study: Study) -> DriverRuntime:
    """Return the runtime of the study's driver."""
    return cast("DriverRuntime", driver_module(study.declaration.name, "runtime").RUNTIME)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The result of one attempt at a repetition.

    Attributes:
        outcome: By the driver; the plausibility of the values is checked afterwards.
        reason: Why it is not valid, or a remark on a valid one.
        is_excused: It failed for a cause unrelated to its configuration, and may be repeated.
        trouble: Trouble of the measured system; it spoils the whole block.
        client_is_known: False if the load's own CPU time is unknown, and so counts as other processes'.
        upsets: It left the system changed (a leader moved, or there was trouble). The configuration may be the cause,
            so it counts even if repeated.
        started_at: In UTC, as ISO 8601.
        quantities: The driver's quantities by name.
        wall_s: Lifetime of the load's processes.
        client_cpu_s: Their CPU time.
        cpu_steal_fraction: The hypervisor's share of the machine's CPU time meanwhile.
        other_cpu_fraction: Other processes' share.
        timeline: Values second by second; None if not recorded.
    """

    outcome: Outcome
    reason: str = ""
    is_excused: bool = False
    trouble: ClusterError | SafetyStop | None = None
    started_at: str
    quantities: Values
    wall_s: float
    client_cpu_s: float = 0.0
    cpu_steal_fraction: float = 0.0
    other_cpu_fraction: float = 0.0
    client_is_known: bool = True
    upsets: bool = False
    timeline: Timeline | None = None


class RepetitionRunner(ABC):
    """Run repetitions of one case on one testbed, one at a time. Only `attempt` is required."""

    limits: MeasuringLimits = LIMITS
    lease: Lease | None = None
    """Excludes other loads; held before and after each attempt. None if no other load is possible."""

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:  # noqa: B027
        """Wait, for a limited time, until the system can take these repetitions.

        Raises:
            ClusterError: If it does not recover in time.
            SafetyStop: If this user lacks the rights to check.
        """

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> Repetition | None:  # noqa: ARG002
        """Prepare for the next attempt.

        Args:
            last: The valid repetition stored last, if nothing has run since.
            planned: The next repetition.

        Returns:
            `last` amended, if new facts about it were found; else None.

        Raises:
            ClusterError: If the system is unhealthy.
            SafetyStop: If this user lacks the rights to check.
        """
        return None

    @abstractmethod
    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Run the repetition that `begin` prepared, and judge the outcome.

        Raises:
            PlanError: If the ceiling of a foreign cluster is reached.
        """

    def require_unharmed(self) -> None:  # noqa: B027
        """Refuse a system harmed by a block's repetitions.

        Raises:
            ClusterError: Naming the harm.
            SafetyStop: If this user lacks the rights to check.
        """

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:  # noqa: B027
        """Free the space of the repetitions' data, if that is worth the time between two blocks."""

    def amended(self, last: Repetition) -> Repetition | None:  # noqa: ARG002
        """Return the last repetition, amended by facts found since it was stored; None without any."""
        return None

    def end(self) -> None:  # noqa: B027
        """Free the data of a phase's repetitions."""


def repetition_of(planned: PlannedRepetition, attempt: Attempt, attempts: int, upsets: int = 0) -> Repetition:
    """Return the repetition's record from its last attempt, with the numbers of attempts and upsets."""
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
        upsets=upsets,
        started_at=attempt.started_at,
        wall_s=attempt.wall_s,
        client_cpu_s=attempt.client_cpu_s,
        load_1m=psutil.getloadavg()[0],
        cpu_steal_fraction=attempt.cpu_steal_fraction,
        other_cpu_fraction=attempt.other_cpu_fraction,
        quantities=dict(attempt.quantities),
        timeline=attempt.timeline,
    )
