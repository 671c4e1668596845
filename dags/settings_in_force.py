"""Change the active settings.

Activates chosen settings of a study, asks a person first, or rolls back to the previous settings. The explorer's
buttons and `make rollback` trigger this DAG, and so does a campaign that ends with a question. Anybody with the right
to trigger it can do so, too. Earlier settings are kept as versions.

**Inputs**: the action, and what it needs. `accept` needs the campaign. With the campaign alone, all of its
recommendations become active, even those with a weaker durability guarantee. With a record size and a configuration,
that configuration becomes active; the campaign must have confirmed it. `ask` needs the campaign, and shows its cards
to a person under *Required Actions*. `roll_back` needs the record size, and returns it to the previous version. Each
version records the reason and the person's name in Airflow.

A question waits in a run of its own, without a time limit, and blocks nothing: campaigns, checks and other questions
continue. An answer covers only what was shown: it does not replace settings that became active since. Before a
recommendation or a pick becomes active, the cluster is checked again. If its version, id or number of brokers differs
from what the campaign measured, or the question is older than the study's `confirmation.answer_within_days`, another
run asks a person again.

A study that names its cluster (`cluster: {name: …}`) has a DAG of its own, `settings_in_force_<cluster>`. Each DAG
changes the settings of its own cluster only.

**Outputs**: in the store, under `_in_force/<study>/<record size>/`: one more version, and the files that producers
read. The asset `kafka_producer_settings_in_force` gets an event with each change, old and new. The campaign keeps every
answer under `08_rollout/`, with its author and reason.

## When a task fails
The last lines of its log name the error and the fix. Record sizes change one after the other: those that changed before
the failure are active. Fix the cause, then clear the task: it does the rest and announces everything.

| task | what to look at |
|---|---|
| action | nothing: it only selects the task that runs first |
| approve | the store, which holds the cards. Cleared, it asks again |
| accept | the campaign's report and confirmation: only configurations confirmed without lost records are accepted |
| ask | this DAG must not be paused. If this run has asked the same question already, nobody is asked twice |
| roll_back | the record size, which is required; the active settings: without a version, nothing can go back |
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

# Each open question is a run, and none may keep a move, or another question, waiting.
MOST_RUNS = 1000


def settings_dag(route: ClusterRoute) -> None:
    """Define the DAG that changes the active settings on one cluster."""
    of_this_cluster = f"--cluster={route.cluster}"
    with DAG(
        dag_id=route.settings_dag_id,
        description="Activates a measured configuration, asks a person, or rolls back to the previous one.",
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
            doc_md="Shows a person the recommendations, and waits for the answer.",
            **RULES["approve"],
        )
        accept = step_task(
            "accept",
            [*ACCEPT_ARGUMENTS, of_this_cluster],
            "Activates the campaign's recommendations, or one confirmed configuration.",
            outlets=[ACTIVE_SETTINGS],
            trigger_rule="none_failed_min_one_success",  # approve is skipped where nobody is asked
            max_active_tis_per_dag=1,  # two acceptances at once: one of them would fail
        )
        ask = QuestionTrigger(
            task_id="ask",
            trigger_dag_id=route.settings_dag_id,
            doc_md="Starts another question if the cluster has changed or the answer came too late.",
        )
        roll_back = step_task(
            "roll_back",
            [*ROLL_BACK_ARGUMENTS, of_this_cluster],
            "Returns the record size to the previous settings.",
            outlets=[ACTIVE_SETTINGS],
            max_active_tis_per_dag=1,
        )
        begun = action()
        begun >> [approve, accept, roll_back]
        approve >> accept >> ask


for route in cluster_routes():
    if route.studies or not route.cluster:
        settings_dag(route)
