"""Defines the DAGs' parameters: their schema for the trigger form and the API, and the steps' arguments."""

from __future__ import annotations

from airflow.sdk import Param

from kafka_pareto.study.cases import CASE
from kafka_pareto.study.identifiers import (
    CAMPAIGN_ID,
    CAMPAIGN_IDS,
    CHANGES_NAME,
    CONFIGURATION_ID,
    MOST_RECORD_SIZE_BYTES,
    SENSITIVE_NAMES,
    STUDY_NAME,
)
from kafka_pareto_airflow.forms.common import (
    CAMPAIGN_ARGUMENTS,
    CLUSTER_ARGUMENTS,
    cluster_parameters,
    measuring_parameters,
    study_names,
    study_parameters,
)

DEFAULT_STUDY = "quick"

DESIGN_ARGUMENTS = [
    *CAMPAIGN_ARGUMENTS,
    "{% if params.record_sizes %}--cases={{ params.record_sizes | map('int') | join(',') }}{% endif %}",
    "{% if params.seed is not none %}--seed={{ params.seed | int }}{% endif %}",
    "{% if params.repetitions is not none %}--repetitions={{ params.repetitions | int }}{% endif %}",
    "{% if params.cool_down_s is not none %}--cool-down-s={{ params.cool_down_s }}{% endif %}",
    "{% if params.baseline %}--baseline={{ params.baseline }}{% endif %}",
    "{% if params.warm_start is not none %}--warm-start={{ params.warm_start }}{% endif %}",
    *CLUSTER_ARGUMENTS,
]

# The end of a campaign: what it recommends comes into force, or a person is asked.
HAND_OVER_ARGUMENTS = [
    *CAMPAIGN_ARGUMENTS,
    "{% if params.approval %}--ask{% endif %}",
    "--request={{ run_id }}",
]
# The answer that the task `approve` returned, or the word of whoever triggered the DAG.
_ANSWERED = "{% set given = ti.xcom_pull(task_ids='approve') %}"
ACCEPT_ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign or '' }}",
    "{% if params.case %}--case={{ params.case }}{% endif %}",
    "{% if params.configuration %}--configuration={{ params.configuration }}{% endif %}",
    f"{_ANSWERED}--answer={{{{ given['answer'] if given else 'approve' }}}}",
    f"{_ANSWERED}--approved-by={{{{ given['by'] if given else dag_run.triggering_user_name or '' }}}}",
    f"{_ANSWERED}--reason={{{{ given['reason'] if given else params.reason or '' }}}}",
    f"{_ANSWERED}--answered-at={{{{ given['at'] if given else dag_run.run_after.isoformat() }}}}",
    f"{_ANSWERED}--asked-at={{{{ given['asked_at'] if given else dag_run.run_after.isoformat() }}}}",
    f"{_ANSWERED}{{% if given %}}--seen={{{{ given['seen'] }}}}{{% endif %}}",
    "{% if params.changes_seen %}--changes-seen={{ params.changes_seen }}{% endif %}",
    # A retry is the same request. An answer that was asked for again is a new one.
    f"{_ANSWERED}--request={{{{ run_id ~ ' ' ~ given['at'] if given else run_id }}}}",
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


def tune_parameters(studies: list[str] | None = None) -> dict[str, Param]:
    """Returns the parameters with JSON schemas, to choose among these studies (all). Null keeps the study's value."""
    return {
        **study_parameters(studies or study_names(), DEFAULT_STUDY),
        "record_sizes": Param(
            None,
            type=["null", "array"],
            items={"type": "integer", "minimum": 1, "maximum": MOST_RECORD_SIZE_BYTES},
            uniqueItems=True,
            title="Record sizes in bytes",
            description="A list like [1024, 8192], instead of the study's; empty: the study's.",
        ),
        **measuring_parameters(),
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
        **cluster_parameters(),
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


def in_force_parameters(studies: list[str] | None = None) -> dict[str, Param]:
    """Returns the parameters of `settings_in_force`, of these studies (all); the step says what an action needs."""
    studies = studies or study_names()
    return {
        "action": Param(
            "accept",
            type="string",
            enum=["accept", "ask", "roll_back"],
            title="Action",
            description="Put something into force, ask a person first, or go back to what was in force before.",
        ),
        # A study whose file is gone may still have settings in force.
        "study": Param(
            studies[0] if studies else DEFAULT_STUDY,
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
        "changes_seen": Param(
            None,
            type=["null", "string"],
            pattern=f"^({CHANGES_NAME})?$",
            title="Changes seen",
            description="Of the cluster since it was measured: the name by which the step told of them; empty: none.",
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
