"""Defines what the forms of all DAGs that run campaigns share: the studies, and the parameters of every kind."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import Param

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cluster_names import kind_of
from kafka_pareto.study.identifiers import CAMPAIGN_ID
from kafka_pareto_airflow.project import project_root

# A campaign without a name is named after its run, so that a cleared task finds it again.
CAMPAIGN_ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign or dag_run.run_after.strftime('%Y%m%dT%H%M%S-%f') }}",
]
CLUSTER_ARGUMENTS = [
    "{% if params.bootstrap_servers is not none %}--bootstrap-servers={{ params.bootstrap_servers }}{% endif %}",
    "{% if params.client_config is not none %}--client-config={{ params.client_config }}{% endif %}",
    "{% if params.ceiling_mib_s is not none %}--ceiling-mib-s={{ params.ceiling_mib_s }}{% endif %}",
    "{% if params.ceiling_gib is not none %}--ceiling-gib={{ params.ceiling_gib }}{% endif %}",
    "{% if params.consent %}--consent{% endif %}",
]


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


def study_names(kind: str = "tune") -> list[str]:
    """Returns the names of the studies of this kind."""
    return [file.stem for file in study_files() if kind_of(file) == kind]


def study_parameters(studies: list[str], default: str) -> dict[str, Param]:
    """Returns the parameters that name the study, one of these, and the campaign."""
    return {
        "study": Param(
            default if default in studies else studies[0],
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
    }


def measuring_parameters() -> dict[str, Param]:
    """Returns the parameters that say how often and how is measured."""
    return {
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
    }


def cluster_parameters() -> dict[str, Param]:
    """Returns the parameters of a cluster of the user's own."""
    return {
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
    }
