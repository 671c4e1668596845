"""Lists the drivers: what is loaded and measured.

Objectives and features of all drivers share one vocabulary: a name, unit included, means the same wherever it stands.
"""

from __future__ import annotations

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.consumer import CONSUMER
from kafka_pareto.study.declaration import Driver, Feature, Objective
from kafka_pareto.study.ingestion import INGESTION
from kafka_pareto.study.log_pipeline import LOG_PIPELINE
from kafka_pareto.study.producer import PRODUCER
from kafka_pareto.study.services import SERVICES

DRIVERS: dict[str, Driver] = {each.name: each for each in (PRODUCER, CONSUMER, INGESTION, SERVICES, LOG_PIPELINE)}


def objective_named(name: str) -> Objective:
    """Returns the objective of this name, of any driver.

    Raises:
        BadInputError: If no driver has it.
    """
    for driver in DRIVERS.values():
        for each in driver.objectives:
            if each.name == name:
                return each
    raise BadInputError(f"{name!r} is no objective of any driver")


def label_of(name: str) -> str:
    """Returns the label of an objective."""
    return objective_named(name).label


def is_maximised(name: str) -> bool:
    """Tells whether more of an objective is better."""
    return objective_named(name).maximised


def feature_named(name: str) -> Feature | None:
    """Returns the feature of this name, of any driver; None where no driver has it, as for a factor."""
    declared = (each for driver in DRIVERS.values() for each in (*driver.case_features, *driver.derived_features))
    return next((each for each in declared if each.name == name), None)


def all_objectives() -> list[Objective]:
    """Lists every objective that any driver has, each once."""
    return list({each.name: each for driver in DRIVERS.values() for each in driver.objectives}.values())
