"""Describes the settings in force that a confirmation measures, as they were found when it began."""

from __future__ import annotations

from pydantic import Field

from kafka_pareto.kafka.known_properties import DurabilityName, PropertyValue
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.constraints import Constraints, ForbiddenRegions
from kafka_pareto.study.factors import FactorValue


class InForce(Frozen):
    """Holds settings in force other than the baseline, and which of the study's rules of today they break.

    Attributes:
        version: The version in force.
        campaign: The campaign that confirmed it.
        constraints_broken: Constraints that it breaks at this record size.
        in_forbidden: Forbidden regions that it lies in.
        durability_accepted: Whether the study accepts the durability that it promises.
    """

    version: int
    campaign: str
    configuration_id: str
    configuration: dict[str, FactorValue]
    properties: dict[str, PropertyValue]
    durability: DurabilityName
    constraints_broken: Constraints = Field(default_factory=list)
    in_forbidden: ForbiddenRegions = Field(default_factory=list)
    durability_accepted: bool = True


class FoundInForce(Record):
    """Holds what was in force at one case when its confirmation began. It is decided once.

    Attributes:
        newest_version: The version in force; 0 where nothing ever came into force. None where an earlier release, which
            did not look, has begun the confirmation: it goes on as it was begun, without final blocks.
        settings: What the confirmation measures beside the baseline; None where the baseline is in force, or where
            what is in force does not count.
        left_out: Why it does not count: the differences of cluster, workload or protocol, or of factors.
    """

    newest_version: int | None = 0
    settings: InForce | None = None
    left_out: list[str] = Field(default_factory=list)
