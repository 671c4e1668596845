"""Defines the DAGs' parameters: their schema for the trigger form and the API, and the steps' arguments."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import Param

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.identifiers import (
    CAMPAIGN_ID,
    CAMPAIGN_IDS,
    CONFIGURATION_ID,
    MOST_RECORD_SIZE_BYTES,
    SENSITIVE_NAMES,
    STUDY_NAME,
)
from kafka_pareto_airflow.project import project_root

DEFAULT_STUDY = "quick"

# A campaign without a name is named after its run, so that a cleared task finds it again.
CAMPAIGN_ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign or dag_run.run_after.strftime('%Y%m%dT%H%M%S-%f') }}",
]
DESIGN_ARGUMENTS = [
    *CAMPAIGN_ARGUMENTS,
    "{% if params.record_sizes %}--cases={{ params.record_sizes | map('int') | join(',') }}{% endif %}",
    "{% if params.seed is not none %}--seed={{ params.seed | int }}{% endif %}",
    "{% if params.repetitions is not none %}--repetitions={{ params.repetitions | int }}{% endif %}",
    "{% if params.cool_down_s is not none %}--cool-down-s={{ params.cool_down_s }}{% endif %}",
    "{% if params.baseline %}--baseline={{ params.baseline }}{% endif %}",
    "{% if params.warm_start is not none %}--warm-start={{ params.warm_start }}{% endif %}",
    "{% if params.bootstrap_servers is not none %}--bootstrap-servers={{ params.bootstrap_servers }}{% endif %}",
    "{% if params.client_config is not none %}--client-config={{ params.client_config }}{% endif %}",
    "{% if params.ceiling_mib_s is not none %}--ceiling-mib-s={{ params.ceiling_mib_s }}{% endif %}",
    "{% if params.ceiling_gib is not none %}--ceiling-gib={{ params.ceiling_gib }}{% endif %}",
    "{% if params.consent %}--consent{% endif %}",
]

# The answer that the task `approve` returned.
ANSWER_ARGUMENTS = [
    *CAMPAIGN_ARGUMENTS,
    "--answer={{ ti.xcom_pull(task_ids='approve')['answer'] }}",
    "--approved-by={{ ti.xcom_pull(task_ids='approve')['by'] }}",
    "--reason={{ ti.xcom_pull(task_ids='approve')['reason'] }}",
    "--answered-at={{ ti.xcom_pull(task_ids='approve')['at'] }}",
    # A retry is the same request. An answer that was asked for again is a new one.
    "{% set seen = ti.xcom_pull(task_ids='approve', key='seen') %}{% if seen %}--seen={{ seen }}{% endif %}",
    "--request={{ (run_id ~ ' ' ~ ti.xcom_pull(task_ids='approve')['at']) | trim }}",
]
# Whoever triggers the DAG has decided: nobody is asked again.
ACCEPT_ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign or '' }}",
    "{% if params.case %}--case={{ params.case }}{% endif %}",
    "{% if params.configuration %}--configuration={{ params.configuration }}{% endif %}",
    "--answer=approve",
    "--approved-by={{ dag_run.triggering_user_name or '' }}",
    "--reason={{ params.reason or '' }}",
    "--answered-at={{ dag_run.run_after.isoformat() }}",
    "--request={{ run_id }}",
    "{% if params.from_version is not none %}--from-version={{ params.from_version | int }}{% endif %}",
]
ROLL_BACK_ARGUMENTS = [
    "--study={{ params.study }}",
    "{% if params.case %}--case={{ params.case }}{% endif %}",
    "--by={{ dag_run.triggering_user_name or '' }}",
    "--reason={{ params.reason or '' }}",
    "--request={{ run_id }}",  # a retry does not go back twice
    "{% if params.from_version is not none %}--from-version={{ params.from_version | int }}{% endif %}",
]

LONGEST_REASON = 500
LONGEST_BASELINE = 10_000


def round_arguments(number: int) -> list[str]:
    """Returns the arguments of a step in a round after the design's."""
    return [*CAMPAIGN_ARGUMENTS, f"--round={number}"]


def study_files() -> list[Path]:
    """Returns the files of the studies in the folder that the steps read, as of now.

    Raises:
        BadInputError: If there is none.
    """
    shipped = project_root(os.environ) / "include" / "studies"
    folder = Path(os.environ.get("KAFKA_PARETO_STUDIES") or shipped)
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise BadInputError(f"{folder}: holds no study: put a <name>.yaml there, or mend KAFKA_PARETO_STUDIES")
    return files


def study_names() -> list[str]:
    """Returns the names of these studies."""
    return [file.stem for file in study_files()]


def tune_parameters(studies: list[str] | None = None) -> dict[str, Param]:
    """Returns the parameters with JSON schemas, to choose among these studies (all). Null keeps the study's value."""
    studies = studies or study_names()
    return {
        "study": Param(
            DEFAULT_STUDY if DEFAULT_STUDY in studies else studies[0],
            type="string",
            enum=studies,
            title="Study",
            description="What is varied, how it is measured, and what is wanted of it.",
        ),
        "campaign": Param(
            None,
            type=["null", "string"],
            pattern=f"^{CAMPAIGN_ID}$",
            title="Campaign",
            description="Empty: a new campaign. The id of an earlier one: go on with it.",
        ),
        "record_sizes": Param(
            None,
            type=["null", "array"],
            items={"type": "integer", "minimum": 1, "maximum": MOST_RECORD_SIZE_BYTES},
            uniqueItems=True,
            title="Record sizes in bytes",
            description="A list like [1024, 8192], instead of the study's; empty: the study's.",
        ),
        "seed": Param(
            None,
            type=["null", "integer"],
            minimum=0,
            title="Seed",
            description="Random seed, instead of the study's.",
        ),
        "repetitions": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            title="Repetitions",
            description="Of each configuration, instead of the study's.",
        ),
        "cool_down_s": Param(
            None,
            type=["null", "number"],
            minimum=0,
            title="Pause in seconds",
            description="Before every load, instead of the study's.",
        ),
        "baseline": Param(
            None,
            type=["null", "string"],
            format="multiline",
            pattern=f"^(?![\\s\\S]*({SENSITIVE_NAMES}))",
            maxLength=LONGEST_BASELINE,
            title="Baseline",
            description="The producer.properties that you use today, instead of the study's baseline. No secrets: text "
            "that names sasl, ssl, a password or the like is refused.",
        ),
        "warm_start": Param(
            None,
            type=["null", "string"],
            pattern=f"^{CAMPAIGN_IDS}$",
            title="Warm start",
            description="Earlier campaigns to learn from, for a study in rounds: latest, or ids like id,id.",
        ),
        "bootstrap_servers": Param(
            None,
            type=["null", "string"],
            pattern="^[A-Za-z0-9._-]+:[0-9]{1,5}(,[A-Za-z0-9._-]+:[0-9]{1,5})*$",
            title="Bootstrap servers",
            description="host:port,… of a cluster of your own. It needs both ceilings and the consent below.",
        ),
        "client_config": Param(
            None,
            type=["null", "string"],
            pattern="^[A-Za-z0-9._-]+$",
            title="Client configuration",
            description="Name of a client.properties file (SASL, TLS) in the installation's folder for these.",
        ),
        "ceiling_mib_s": Param(
            None,
            type=["null", "number"],
            exclusiveMinimum=0,
            title="Ceiling in MiB/s",
            description="The load on a cluster of your own never exceeds this rate. No more than the study's.",
        ),
        "ceiling_gib": Param(
            None,
            type=["null", "number"],
            exclusiveMinimum=0,
            title="Ceiling in GiB",
            description="The campaign never sends more than this to a cluster of your own. No more than the study's.",
        ),
        "consent": Param(
            False,
            type="boolean",
            title="Consent",
            description="The plan that the design step prints may be carried out on a cluster of your own.",
        ),
        "approval": Param(
            False,
            type="boolean",
            title="Approval",
            description="What is recommended comes into force only when somebody has approved it in Airflow.",
        ),
    }


def answer_parameters() -> dict[str, Param]:
    """Returns the form of the task `approve`. Too long a reason is cut, since a refusal would fail the task."""
    return {
        "reason": Param(
            None,
            type=["null", "string"],
            title="Reason",
            description=f"Kept with the answer; at most {LONGEST_REASON} characters.",
        )
    }


def in_force_parameters() -> dict[str, Param]:
    """Returns the parameters of `settings_in_force`; the step says which of them an action needs."""
    studies = study_names()
    return {
        "action": Param(
            "accept",
            type="string",
            enum=["accept", "roll_back"],
            title="Action",
            description="Put something into force, or go back to what was in force before.",
        ),
        # A study whose file is gone may still have settings in force.
        "study": Param(
            studies[0],
            type="string",
            pattern=f"^{STUDY_NAME}$",
            examples=studies,
            title="Study",
            description="Whose settings in force are moved.",
        ),
        "campaign": Param(
            None,
            type=["null", "string"],
            pattern=f"^({CAMPAIGN_ID})?$",
            title="Campaign",
            description="To accept from; empty to go back.",
        ),
        "case": Param(
            None,
            type=["null", "string"],
            pattern=f"^({CASE})?$",
            title="Case",
            description="A record size in bytes. Empty: all that the campaign recommends. Going back needs it.",
        ),
        "configuration": Param(
            None,
            type=["null", "string"],
            pattern=f"^({CONFIGURATION_ID})?$",
            title="Configuration",
            description="One that the campaign has confirmed; empty: what it recommends.",
        ),
        "from_version": Param(
            None,
            type=["null", "integer"],
            minimum=0,
            title="From version",
            description="Refused if another is in force by then; 0: if any is; empty: not looked at.",
        ),
        "reason": Param(
            None,
            type=["null", "string"],
            maxLength=LONGEST_REASON,
            pattern="^[^\\u0000]*$",
            title="Reason",
            description="Kept with the version.",
        ),
    }
