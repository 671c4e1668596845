"""Prepares the DAGs of the checks: which studies have a schedule, the parameters, the steps' arguments."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from pathlib import Path

import yaml
from airflow.sdk import Param

from kafka_pareto.study.retune import Retune
from kafka_pareto_airflow.forms.parameters import study_files, study_names

log = logging.getLogger(__name__)

# Asset events name the study in their extras. A run has one study, so the step refuses several or none.
_STUDY = (
    "{% if triggering_asset_events %}{% set names = [] %}"
    "{% for events in triggering_asset_events.values() %}{% for event in events %}"
    "{% if event.extra.study not in names %}{{ names.append(event.extra.study) or '' }}{% endif %}"
    "{% endfor %}{% endfor %}{{ names | join(',') }}{% else %}{{ params.study }}{% endif %}"
)
_KEY = r"[\w.-]+"  # Airflow's rule for a DAG's id, which the study's name becomes a part of
# A check is named after its run, so that a cleared task finds it again.
CHECK_ARGUMENTS = [f"--study={_STUDY}", "--campaign={{ dag_run.run_after.strftime('%Y%m%dT%H%M%S-%f') }}"]


def retune_parameters(study: str, studies: list[str]) -> dict[str, Param]:
    """Returns the one parameter of the trigger form and the API: a study of these, by default `study`."""
    studies = studies or study_names()
    return {
        "study": Param(
            study if study in studies else studies[0],
            type="string",
            enum=studies,
            title="Study",
            description="Whose settings in force are checked.",
        )
    }


def studies_with_checks_of_their_own(apart: Collection[str]) -> dict[str, Retune]:
    """Returns, by name, the studies with a schedule of checks and those whose cluster has its own DAG."""
    named = [file for file in study_files() if re.fullmatch(_KEY, file.stem)]
    sections = {file.stem: _retune_section(file) for file in named}
    return {
        name: section
        for name, section in sections.items()
        if section is not None and (section.schedule is not None or name in apart)
    }


def _retune_section(file: Path) -> Retune | None:
    """Returns the study's section on checks; None if it cannot be read: whoever uses the study is told why."""
    try:
        return Retune.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")).get("retune", {}))
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        log.warning("%s: has no schedule, since it cannot be read: %s", file, error)
        return None
