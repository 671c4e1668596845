"""Change the active settings.

Activates chosen settings of a study, requests approval first, or rolls back to the previous settings. The explorer's
buttons, `make rollback` and campaigns that need approval trigger this DAG, as can any user with permission. Earlier
settings are kept as versions.

**Inputs**: the action and its parameters. `accept` requires the campaign. With the campaign alone, all of its
recommendations become active, even those with a weaker durability guarantee. With a case and a configuration that the
campaign confirmed, that configuration becomes active. `ask` requires the campaign, and shows its cards for approval
under *Required Actions*. `roll_back` requires the case, and returns it to the previous version. Each version records
the reason and the user's name in Airflow.

A question waits in its own run until it is answered, or until `clean_up` deletes the run; campaigns and checks
continue. An answer covers only what was shown: it does not replace settings that became active since. Before a
recommendation or a pick becomes active, the cluster is checked again. If its version, ID or number of brokers differs
from the measured cluster, or the question is older than the study's `confirmation.answer_within_days`, another run
requests approval again.

A study with a named cluster (`cluster: {name: …}`) has its own DAG, `settings_in_force_<cluster>`. Each DAG changes
only the settings of its own cluster.

**Outputs**: in the store, under `_in_force/<study>/<case>/`: a new version, and the files that clients read. The asset
`kafka_producer_settings_in_force` gets an event with each change, with old and new values. The campaign keeps every
answer under `08_rollout/`, with its author and reason.

## When a task fails
The last lines of its log name the error and the fix. Cases change one after another; those changed before the failure
are active. Fix the cause, then clear the task: it completes the change and announces all of it.

| task | what to check |
|---|---|
| action | its parameters; it only selects the first task |
| approve | the store with the cards. Once cleared, it asks again |
| accept | the campaign's report and confirmation: configurations must be confirmed without lost records |
| ask | whether this DAG is paused. A repeated task does not ask the same question again |
| roll_back | the case, which is required, and the active settings: the study must have had settings for this case |
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, task

from kafka_pareto_airflow.approval import CardApproval, QuestionTrigger
from kafka_pareto_airflow.assets import ACTIVE_SETTINGS
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import (
    ACCEPT_ARGUMENTS,
    ROLL_BACK_ARGUMENTS,
    active_settings_parameters,
    answer_parameters,
)
from kafka_pareto_airflow.steps.step_operator import step_task
from kafka_pareto_airflow.task_rules import RULES, dag_options

# Each open question is a run, which must not block changes or other questions.
MOST_RUNS = 1000


def settings_dag(route: ClusterRoute) -> None:
    """Define the DAG that changes the active settings on one cluster."""
    of_this_cluster = f"--cluster={route.cluster}"
    with DAG(
        dag_id=route.settings_dag_id,
        description="Activates a measured configuration, requests approval, or rolls back to the previous one.",
        doc_md=__doc__,
        schedule=None,
        max_active_runs=MOST_RUNS,
        tags=["kafka", "rollout"],
        params=active_settings_parameters(route.studies),
        **dag_options(route.queue),
    ):

        @task.branch(doc_md="Selects the task that runs first.", **RULES["action"])
        def action(params: dict[str, Any]) -> str:
            """Return the name of the task that runs first."""
            return "approve" if params["action"] == "ask" else str(params["action"])

        approve = CardApproval(
            task_id="approve",
            cluster=route.cluster,
            params=answer_parameters(),
            doc_md="Shows the recommendations, and waits for approval or rejection.",
            **RULES["approve"],
        )
        accept = step_task(
            "accept",
            [*ACCEPT_ARGUMENTS, of_this_cluster],
            "Activates the campaign's recommendations, or one confirmed configuration.",
            outlets=[ACTIVE_SETTINGS],
            trigger_rule="none_failed_min_one_success",  # approve is skipped without a question
            max_active_tis_per_dag=1,  # of two simultaneous acceptances, one would fail
        )
        ask = QuestionTrigger(
            task_id="ask",
            trigger_dag_id=route.settings_dag_id,
            doc_md="Starts another question if the cluster has changed or the answer is too late.",
        )
        roll_back = step_task(
            "roll_back",
            [*ROLL_BACK_ARGUMENTS, of_this_cluster],
            "Returns the case to the previous settings.",
            outlets=[ACTIVE_SETTINGS],
            max_active_tis_per_dag=1,
        )
        begun = action()
        begun >> [approve, accept, roll_back]
        approve >> accept >> ask


for route in cluster_routes():
    if route.studies or not route.cluster:
        settings_dag(route)
