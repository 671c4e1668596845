"""# Move the settings in force

Puts into force what somebody has chosen for a study, or goes back to what was in force before. The explorer's buttons
and `make rollback` trigger this; so may anybody who may trigger DAGs. What was in force before is kept as a version.

**Inputs**: the action, and what it is about. `accept` needs the campaign: alone, all that it recommends comes into
force, what promises less durability included; with a record size and a configuration, one that the campaign has
confirmed. `roll_back` needs the record size, and returns it to the version before. The reason is kept with the
version, and so is the person, as Airflow knows them.

**Outputs**, in the store under `_in_force/<study>/<record size>/`: one more version, and the files that producers
read. The asset `kafka_producer_settings_in_force` has an event that says what moved from what to what.

## When a task fails
The last lines of its log say what is wrong and what to do. Record sizes move one after the other: what moved before
the failure is in force. Clear the task once the cause is mended: it does the rest, and announces all of it.

| task | what to look at |
|---|---|
| action | nothing: it only tells which of the two runs |
| accept | the campaign's report and confirmation: only what was measured there, and lost no record, is accepted |
| roll_back | the record size, which it needs; what is in force: without a version there is nothing to go back from |
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, task

from kafka_pareto.study.identifiers import SETTINGS_IN_FORCE_DAG_ID
from kafka_pareto_airflow.assets import SETTINGS_IN_FORCE
from kafka_pareto_airflow.forms.parameters import ACCEPT_ARGUMENTS, ROLL_BACK_ARGUMENTS, in_force_parameters
from kafka_pareto_airflow.notify.notices import FailureNotifier
from kafka_pareto_airflow.steps.step_operator import StepOperator
from kafka_pareto_airflow.task_rules import OWNER, RULES

with DAG(
    dag_id=SETTINGS_IN_FORCE_DAG_ID,
    description="Puts a measured configuration into force, or goes back to the one before.",
    doc_md=__doc__,
    schedule=None,
    catchup=False,
    max_active_runs=1,  # two moves at once: one of them would fail
    is_paused_upon_creation=False,  # it does nothing that nobody asked for
    tags=["kafka", "rollout"],
    default_args={"owner": OWNER},
    params=in_force_parameters(),
    on_failure_callback=FailureNotifier(),
):

    @task.branch(doc_md="Tells which of the two steps runs.", **RULES["action"])
    def action(params: dict[str, Any]) -> str:
        return str(params["action"])

    action() >> [
        StepOperator(
            task_id="accept",
            step="accept",
            arguments=ACCEPT_ARGUMENTS,
            outlets=[SETTINGS_IN_FORCE],
            doc_md="Puts the campaign's recommendations, or one confirmed configuration, into force.",
            **RULES["accept"],
        ),
        StepOperator(
            task_id="roll_back",
            step="roll_back",
            arguments=ROLL_BACK_ARGUMENTS,
            outlets=[SETTINGS_IN_FORCE],
            doc_md="Returns the record size to what was in force before.",
            **RULES["roll_back"],
        ),
    ]
