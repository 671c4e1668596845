"""Define what measuring asks of a driver: its system, its costs, and what runs repetitions of one case."""

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
    """The system that a study loads, before anything is sent."""

    @abstractmethod
    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:
        """Describe the system and this machine, as they are now.

        Raises:
            ClusterError: If the system cannot be reached.
        """

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:  # noqa: B027
        """Refuse a plan that the system or the study's own limits have no room for.

        Raises:
            PlanError: Saying why, with both numbers and the remedy.
            ClusterError: If the system cannot be reached.
        """


class DriverRuntime(ABC):
    """Run what a driver declares; a study is read without it."""

    @abstractmethod
    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:
        """Compute what these repetitions cost at most.

        Args:
            study: What they are measured by.
            repetitions: How many, by case.
            sized: True where it is known what one repetition sends; else the loads that find it out are counted, too.
        """

    @abstractmethod
    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Open the system that the study is about.

        Raises:
            BadInputError: If the settings name none.
        """

    def load_setting(self, campaign: Campaign, case: str, configuration: Configuration) -> LoadSetting | None:  # noqa: ARG002
        """Return what a measured repetition was asked to do, for the verdict on what limited it; None for no verdict.

        Raises:
            ArtifactError: If the campaign has not kept what was sent.
        """
        return None

    def fault_here(self, study: Study, settings: Settings, configuration: Configuration) -> str:  # noqa: ARG002
        """Return what this machine lacks for a configuration, which a comparison then leaves out; empty for nothing."""
        return ""

    @abstractmethod
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> AbstractContextManager[RepetitionRunner]:
        """Open what runs the repetitions of one case, with the system to itself.

        Raises:
            BadInputError: If the campaign was begun on another system.
            ClusterError: If the system cannot be reached.
            LeaseHeldError: If another load runs on it.
        """


def runtime_of(study: Study) -> DriverRuntime:
    """Return what runs the study's driver."""
    return cast("DriverRuntime", driver_module(study.declaration.name, "runtime").RUNTIME)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The result of one attempt at a repetition.

    Attributes:
        outcome: As the driver judges it; the plausibility of its values is judged afterwards.
        reason: Why it is not valid, or what a reader of a valid one must know.
        is_excused: It failed for a cause that its configuration need not have. It may be repeated.
        trouble: The trouble of the system that is measured; it spoils the whole block.
        client_is_known: False where the load's own CPU time is not known, and so is among other processes'.
        upsets: It left the system otherwise than it was: a leader had moved, or there was trouble. That may be the
            configuration's doing, so it is counted even where it is repeated.
        started_at: In UTC, as ISO 8601.
        quantities: The driver's quantities by name.
        wall_s: How long the load's processes lived.
        client_cpu_s: The CPU time of these processes.
        cpu_steal_fraction: The share of the machine's CPU time that the hypervisor took meanwhile.
        other_cpu_fraction: The share that other processes took.
        timeline: What was seen second by second; None where nobody looked.
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
    """Run repetitions of one case on one testbed, one at a time. A driver needs `attempt`; all else may do nothing."""

    limits: MeasuringLimits = LIMITS
    lease: Lease | None = None
    """Keeps other loads away; it must be held before an attempt and after it. None where nobody else can load."""

    def wait_until_ready(self, planned: Sequence[PlannedRepetition]) -> None:  # noqa: B027
        """Wait, for a limited time, for a system that can take these repetitions.

        Raises:
            ClusterError: If it does not recover in time.
            SafetyStop: If this user may not look.
        """

    def begin(self, last: Repetition | None, planned: PlannedRepetition) -> Repetition | None:  # noqa: ARG002
        """Prepare for the next attempt.

        Args:
            last: The valid repetition that was stored last, if nothing was run since.
            planned: The repetition that is attempted next.

        Returns:
            That repetition amended, if something has come to light about it since; else None.

        Raises:
            ClusterError: If the system is in trouble.
            SafetyStop: If this user may not look.
        """
        return None

    @abstractmethod
    def attempt(self, planned: PlannedRepetition) -> Attempt:
        """Run the repetition that `begin` prepared for, and judge what came of it.

        Raises:
            PlanError: If the ceiling of a cluster that is not ours is reached.
        """

    def require_unharmed(self) -> None:  # noqa: B027
        """Refuse a system that a block's repetitions have harmed.

        Raises:
            ClusterError: Naming the harm.
            SafetyStop: If this user may not look.
        """

    def end_block(self, block: Sequence[PlannedRepetition]) -> None:  # noqa: B027
        """Frees what the repetitions have left, if it is worth the time between two blocks."""

    def end(self, last: Repetition | None) -> Repetition | None:  # noqa: ARG002
        """End a phase, or a part of it: frees what its repetitions have left. Returns what `begin` would."""
        return None


def repetition_of(planned: PlannedRepetition, attempt: Attempt, attempts: int, upsets: int = 0) -> Repetition:
    """Return the record of a repetition whose last attempt, of so many, is given, with how many upset the system."""
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
