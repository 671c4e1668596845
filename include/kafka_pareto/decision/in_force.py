"""Describe the active settings that a confirmation measures, as found when it began."""

from __future__ import annotations

from pydantic import Field

from kafka_pareto.kafka.known_properties import DurabilityName, PropertyValue
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.constraints import Constraints, ForbiddenRegions
from kafka_pareto.study.factors import FactorValue


class InForce(Frozen):
    """Active settings other than the baseline, and which rules of today's study they break."""

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
    """The settings active in one case when its confirmation began; decided once.

    Attributes:
        newest_version: 0 for none ever. None in confirmations begun by a release that did not look; they resume without
            final blocks.
        settings: None if the baseline is active, or the active settings do not count for the reasons in `left_out`.
    """

    newest_version: int | None = 0
    settings: InForce | None = None
    left_out: list[str] = Field(default_factory=list)
