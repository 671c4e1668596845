"""Defines the parameters of the DAG that compares, and the arguments of its design step."""

from __future__ import annotations

from airflow.sdk import Param

from kafka_pareto.study.cases import CASE
from kafka_pareto.study.identifiers import FACTOR_NAME, LEVELS
from kafka_pareto_airflow.forms.common import (
    CAMPAIGN_ARGUMENTS,
    CLUSTER_ARGUMENTS,
    cluster_parameters,
    measuring_parameters,
    study_parameters,
)

DEFAULT_COMPARISON = "impact_quick"

COMPARISON_DESIGN_ARGUMENTS = [
    *CAMPAIGN_ARGUMENTS,
    "{% if params.parts %}--cases={{ params.parts | join(',') }}{% endif %}",
    "{% if params.factor %}--factor={{ params.factor }}{% endif %}",
    "{% if params.levels %}--levels={{ params.levels }}{% endif %}",
    "{% if params.seed is not none %}--seed={{ params.seed | int }}{% endif %}",
    "{% if params.repetitions is not none %}--repetitions={{ params.repetitions | int }}{% endif %}",
    "{% if params.cool_down_s is not none %}--cool-down-s={{ params.cool_down_s }}{% endif %}",
    *CLUSTER_ARGUMENTS,
]


def comparison_parameters(studies: list[str]) -> dict[str, Param]:
    """Returns the parameters with JSON schemas, to choose among these studies. Null keeps the study's value."""
    return {
        **study_parameters(studies, DEFAULT_COMPARISON),
        "parts": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "pattern": f"^{CASE}$"},
            uniqueItems=True,
            title="Parts",
            description='A list like ["acks", "grid"], the only parts of the study to measure; empty: all.',
        ),
        "factor": Param(
            None,
            type=["null", "string"],
            pattern=f"^{FACTOR_NAME}$",
            title="Factor",
            description="The one factor to vary, like linger.ms, instead of the study's parts. It needs its levels.",
        ),
        "levels": Param(
            None,
            type=["null", "string"],
            pattern=f"^{LEVELS}$",
            title="Levels",
            description="Of that factor, like 0,5,20 or 60%,500/s. The reference's level is added where it is missing.",
        ),
        **measuring_parameters(),
        **cluster_parameters(),
    }
