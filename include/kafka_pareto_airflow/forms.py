"""Build the DAGs' trigger forms and their tasks' arguments from the library's options."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from airflow.sdk import Param
from pydantic import BaseModel, Field

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cluster_names import kind_of
from kafka_pareto.study.identifiers import CAMPAIGN_ID, STUDY_NAME
from kafka_pareto.study.options import (
    CAMPAIGN_HELP,
    LONGEST_REASON,
    STUDY_HELP,
    Approval,
    CompareOptions,
    MeasuringOptions,
    Options,
    TuneOptions,
    Wanted,
)
from kafka_pareto_airflow.project import project_root

DEFAULT_STUDY, DEFAULT_COMPARISON = "quick", "impact_quick"


class TuneAsked(MeasuringOptions, TuneOptions):
    """The design options of a tuning campaign."""


class TuneForm(Approval, TuneAsked):
    """The options of `tune_producer` besides study and campaign."""


class CompareAsked(MeasuringOptions, CompareOptions):
    """The options of `compare_configurations` besides study and campaign."""


class _Action(Options):
    action: Literal["accept", "ask", "roll_back"] = Field(
        "accept",
        description="accept: activate settings. ask: request approval. roll_back: return to the previous version.",
    )


def study_files() -> list[Path]:
    """Return the current study files in the folder that the steps read.

    Raises:
        BadInputError: If there is none.
    """
    shipped = project_root(os.environ) / "include" / "studies"
    folder = Path(os.environ.get("KAFKA_PARETO_STUDIES") or shipped)
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise BadInputError(f"{folder}: has no study; add a <name>.yaml there, or fix KAFKA_PARETO_STUDIES")
    return files


def study_names() -> list[str]:
    """Return the names of the tuning studies."""
    return [file.stem for file in study_files() if kind_of(file) == "tune"]


def study_parameter(studies: list[str], default: str, description: str) -> dict[str, Param]:
    """Return the parameter for the study, with these choices."""
    chosen = default if default in studies else studies[0]
    return {"study": Param(chosen, type="string", enum=studies, title="Study", description=description)}


def tune_parameters(studies: list[str] | None = None) -> dict[str, Param]:
    """Return the parameters with JSON schemas for these studies (default: all). Null keeps the study's value."""
    return {**_campaign_parameters(studies or study_names(), DEFAULT_STUDY), **_parameters(TuneForm)}


def comparison_parameters(studies: list[str]) -> dict[str, Param]:
    """Return the parameters of the comparing DAG, like those of the tuning DAG."""
    return {**_campaign_parameters(studies, DEFAULT_COMPARISON), **_parameters(CompareAsked)}


def active_settings_parameters(studies: list[str] | None = None) -> dict[str, Param]:
    """Return the parameters of `settings_in_force` for these studies (default: all); the step checks them."""
    studies = studies or study_names()
    study = Param(  # a deleted study may still have active settings
        studies[0] if studies else DEFAULT_STUDY,
        type="string",
        pattern=f"^{STUDY_NAME}$",
        examples=studies,
        title="Study",
        description="The study whose active settings change.",
    )
    campaign = Param(
        None,
        type=["null", "string"],
        pattern=f"^({CAMPAIGN_ID})?$",
        title="Campaign",
        description="The campaign to accept from; empty for a rollback.",
    )
    asked = ("case", "configuration", "from_version", "changes_seen", "reason")
    return {**_parameters(_Action), "study": study, "campaign": campaign, **_parameters(Wanted, asked)}


def answer_parameters() -> dict[str, Param]:
    """Return the form of the task `approve`. A long reason is truncated, because a refusal would fail the task."""
    kept = f"Stored with the answer; at most {LONGEST_REASON} characters."
    return {"reason": Param(None, type=["null", "string"], title="Reason", description=kept)}


def _campaign_parameters(studies: list[str], default: str) -> dict[str, Param]:
    campaign = Param(
        None,
        type=["null", "string"],
        pattern=f"^{CAMPAIGN_ID}$",
        title="Campaign",
        description=CAMPAIGN_HELP,
    )
    return {**study_parameter(studies, default, STUDY_HELP), "campaign": campaign}


def _parameters(model: type[BaseModel], names: Collection[str] | None = None) -> dict[str, Param]:
    """Return a parameter for each of the model's fields, or only for the named ones."""
    schemas = model.model_json_schema()["properties"]
    return {name: _parameter(schemas[name]) for name in names or schemas}


def _parameter(schema: dict[str, Any]) -> Param:
    default = schema.pop("default") or (False if schema.get("type") == "boolean" else None)
    # Airflow's form supports null among a value's types, but not a choice of schemas.
    given = next((each for each in schema.pop("anyOf", [schema]) if each["type"] != "null"), schema)
    kind = ["null", given["type"]] if default is None else given["type"]
    rules = {name: rule for name, rule in (schema | given).items() if name != "type"}
    return Param(default, type=kind, **rules)


def _arguments(model: type[BaseModel], names: Collection[str] | None = None) -> list[str]:
    """Return a step's argument for each of the model's fields, or only for the named ones; empty without a value."""
    schemas = model.model_json_schema()["properties"]
    return [_argument(name, schemas[name]) for name in names or schemas]


def _argument(name: str, schema: dict[str, Any]) -> str:
    given, flag = f"params.{name}", f"--{name.replace('_', '-')}"
    kinds = {each.get("type") for each in schema.get("anyOf", [schema])}
    if "boolean" in kinds:
        return f"{{% if {given} %}}{flag}{{% endif %}}"
    value = f"{given} | join(',')" if "array" in kinds else given
    return f"{{% if {given} not in (none, '', []) %}}{flag}={{{{ {value} }}}}{{% endif %}}"


# An unnamed campaign is named after its run, so that a cleared task finds it again.
CAMPAIGN_ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign or dag_run.run_after.strftime('%Y%m%dT%H%M%S-%f') }}",
]
TUNE_DESIGN_ARGUMENTS = [*CAMPAIGN_ARGUMENTS, *_arguments(TuneAsked)]
COMPARE_DESIGN_ARGUMENTS = [*CAMPAIGN_ARGUMENTS, *_arguments(CompareAsked)]

# The end of a campaign: its recommendations become active, or approval is requested.
ACTIVATE_ARGUMENTS = [
    *CAMPAIGN_ARGUMENTS,
    "{% if params.approval %}--ask{% endif %}",
    "--request={{ run_id }}",
]
# The answer that the task `approve` returned, or the decision of the user who triggered the DAG.
_ANSWERED = "{% set given = ti.xcom_pull(task_ids='approve') %}"
ACCEPT_ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign or '' }}",
    *_arguments(Wanted, ("case", "configuration", "changes_seen", "from_version")),
    f"{_ANSWERED}--answer={{{{ given['answer'] if given else 'approve' }}}}",
    f"{_ANSWERED}--by={{{{ given['by'] if given else dag_run.triggering_user_name or '' }}}}",
    f"{_ANSWERED}--reason={{{{ given['reason'] if given else params.reason or '' }}}}",
    f"{_ANSWERED}--answered-at={{{{ given['at'] if given else dag_run.run_after.isoformat() }}}}",
    f"{_ANSWERED}--asked-at={{{{ given['asked_at'] if given else dag_run.run_after.isoformat() }}}}",
    f"{_ANSWERED}{{% if given %}}--seen={{{{ given['seen'] }}}}{{% endif %}}",
    # A retry is the same request; a repeated question is a new one.
    f"{_ANSWERED}--request={{{{ run_id ~ ' ' ~ given['at'] if given else run_id }}}}",
]
ROLL_BACK_ARGUMENTS = [
    "--study={{ params.study }}",
    *_arguments(Wanted, ("case", "from_version")),
    "--by={{ dag_run.triggering_user_name or '' }}",
    "--reason={{ params.reason or '' }}",
    "--request={{ run_id }}",  # a retry does not roll back twice
]
