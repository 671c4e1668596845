"""The configurations a campaign measures and compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.study.factors import Configuration, FactorValue, configuration_id
from kafka_pareto.study.study import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Candidate:
    """A configuration and its ID."""

    configuration_id: str
    is_baseline: bool
    configuration: dict[str, FactorValue]


def candidates_of(configurations: pd.DataFrame, study: Study) -> list[Candidate]:
    """Return the rows of a table with factor columns as candidates, in order."""
    return [
        Candidate(row["configuration_id"], row["is_baseline"], {name: row[name] for name in study.varied_factors})
        for row in configurations.to_dict("records")
    ]


def configurations_of(table: pd.DataFrame, study: Study) -> list[Configuration]:
    """Return the configurations of a table with factor columns, in order."""
    return [{name: row[name] for name in study.varied_factors} for row in table.to_dict("records")]


def baseline_candidate(campaign: Campaign, case: str) -> Candidate:
    """Return the case's baseline as a candidate."""
    configuration = campaign.study.baseline_configuration(case)
    return Candidate(configuration_id(configuration), is_baseline=True, configuration=dict(configuration))
