"""Defines what runs a driver: how its system is reached, what its repetitions cost, and what runs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import cast

from kafka_pareto.bottleneck.verdict import LoadSetting
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Fingerprint, Plan
from kafka_pareto.measurement.repetition_runner import RepetitionRunner
from kafka_pareto.settings import Settings
from kafka_pareto.study.drivers import door
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.study import Study


class System(ABC):
    """The system that a study loads, before anything is sent."""

    @abstractmethod
    def fingerprint(self, campaign: Campaign, case: str) -> Fingerprint:
        """Describes the system and this machine, as they are now.

        Raises:
            ClusterError: If the system cannot be reached.
        """

    def require_fit(self, plan: Plan, campaign: Campaign, case: str) -> None:  # noqa: B027
        """Refuses a plan that the system or the study's own limits have no room for.

        Raises:
            PlanError: Saying why, with both numbers and the remedy.
            ClusterError: If the system cannot be reached.
        """


class DriverRuntime(ABC):
    """Runs what a driver declares; a study is read without it."""

    @abstractmethod
    def cost_of(self, study: Study, repetitions: Mapping[str, int], *, sized: bool) -> Plan:
        """Computes what these repetitions cost at most.

        Args:
            study: What they are measured by.
            repetitions: How many, by case.
            sized: True where it is known what one repetition sends; else the loads that find it out are counted, too.
        """

    @abstractmethod
    def system(self, study: Study, settings: Settings) -> AbstractContextManager[System]:
        """Opens the system that the study is about.

        Raises:
            BadInputError: If the settings name none.
        """

    def load_setting(self, campaign: Campaign, case: str, configuration: Configuration) -> LoadSetting | None:  # noqa: ARG002
        """Returns what a measured repetition was asked to do, for the verdict on what limited it; None for no verdict.

        Raises:
            ArtifactError: If the campaign has not kept what was sent.
        """
        return None

    def fault_here(self, study: Study, settings: Settings, configuration: Configuration) -> str:  # noqa: ARG002
        """Says what this machine lacks for a configuration, which a comparison then leaves out; empty for nothing."""
        return ""

    @abstractmethod
    def runner(self, campaign: Campaign, case: str, settings: Settings) -> AbstractContextManager[RepetitionRunner]:
        """Opens what runs the repetitions of one case, with the system to itself.

        Raises:
            BadInputError: If the campaign was begun on another system.
            ClusterError: If the system cannot be reached.
            LeaseHeldError: If another load runs on it.
        """


def runtime_of(study: Study) -> DriverRuntime:
    """Returns what runs the study's driver."""
    return cast("DriverRuntime", door(study.declaration.name, "runtime").RUNTIME)
