"""Published advice, and which of it a study can measure."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.study.configuration_space import ConfigurationSpace
from kafka_pareto.study.factors import Configuration, configuration_id
from kafka_pareto.study.identifiers import DEFAULT_DRIVER, STUDY_NAME
from kafka_pareto.study.section import Section
from kafka_pareto.study.study_file import read_section, study_classes
from kafka_pareto.study.tune import Tune


class Advice(Section):
    """A configuration advised by a guide, a vendor or the documentation (`source`), under the file's own name.

    `note` lists values chosen from a range, and properties left out. Other properties keep the baseline's values.
    """

    name: Annotated[str, Field(pattern=f"^{STUDY_NAME}$")]
    title: str
    meant_for: Literal["throughput", "latency", "balance"]
    source: str
    read_on: date
    note: str = ""
    driver: str = DEFAULT_DRIVER
    properties: dict[str, PropertyValue]

    @field_validator("properties")
    @classmethod
    def _of_the_driver(cls, properties: dict[str, PropertyValue], info: ValidationInfo) -> dict[str, PropertyValue]:
        studies = {driver: study for (_, driver), study in study_classes().items() if issubclass(study, Tune)}
        driver = info.data.get("driver", "")
        if driver not in studies:
            raise ValueError(f"driver: {driver!r}: must be one of {', '.join(studies)}")
        return {name: studies[driver].setting_value(name, value) for name, value in properties.items()}


def load_advice(folder: Path) -> list[Advice]:
    """Read the folder's files in alphabetical order.

    Raises:
        BadInputError: If there is no such folder.
        StudyError: If a file cannot be read, is invalid, or has another name than its advice.
    """
    if not folder.is_dir():
        raise BadInputError(f"KAFKA_PARETO_ADVICE={folder}: is not a folder")
    found = {path: read_section(path, Advice) for path in sorted(folder.glob("*.yaml"))}
    for path, advice in found.items():
        if advice.name != path.stem:
            raise StudyError(str(path), [f"name: {advice.name}: must be the file's own name, {path.stem}"])
    return list(found.values())


def configuration_advised(study: Tune, case: str, advice: Advice) -> Configuration | str:
    """Return the configuration to measure for this advice, or the reason why there is none.

    Durability stays the study's, which decides the guarantee it accepts; all other settings must be within its factors.
    """
    baseline = study.baseline_configuration()
    settings = study.all_settings(baseline)
    asked = {name: value for name, value in advice.properties.items() if name not in study.promises}
    fixed = [
        f"{name}={value}" for name, value in asked.items() if name not in study.factors and settings[name] != value
    ]
    configuration = {**baseline, **{name: value for name, value in asked.items() if name in study.factors}}
    if fixed:
        return f"the study does not vary {', '.join(fixed)}"
    if configuration_id(configuration) == study.baseline_id():
        return "it is the baseline"
    if ConfigurationSpace(study.factors).encode(configuration) is None:
        return "it is outside the study's values"
    if not study.may_be_recommended(configuration, case):
        return "it breaks the study's rules"
    return configuration
