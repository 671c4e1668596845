"""Change the settings in force.

Puts into force what somebody has chosen for a study, asks a person first, or goes back to the settings before. The
explorer's buttons and `make rollback` trigger this DAG, and so does a campaign that ends with a question. Anybody who
may trigger it can do so, too. The earlier settings are kept as a version.

**Inputs**: the action, and what it needs. `accept` needs the campaign. With the campaign alone, all of its
recommendations come into force, also those that promise less durability. With a record size and a configuration, that
one comes into force; the campaign must have confirmed it. `ask` needs the campaign, and shows its cards to a person
under *Required Actions*. `roll_back` needs the record size, and returns it to the version before. The version keeps the
reason and the person, by their name in Airflow.

A question waits in a run of its own, for as long as it takes, and blocks nothing: campaigns, checks and other questions
continue meanwhile. An answer covers only what was shown: what came into force since is not replaced by it. Before a
recommendation or a pick comes into force the cluster is checked again. If it is another one than the campaign measured,
in version, id or number of brokers, or if the question is older than the study's `confirmation.answer_within_days`, a
person is asked anew, by another run.

A study that names its cluster (`cluster: {name: …}`) has a DAG of its own, `settings_in_force_<cluster>`. Each DAG
moves settings of its own cluster alone.

**Outputs**: in the store, under `_in_force/<study>/<record size>/`: one more version, and the files that producers
read. The asset `kafka_producer_settings_in_force` has an event that says what changed from what to what. The campaign
keeps every answer under `08_rollout/`, with who gave it and why.

## When a task fails
The last lines of its log say what is wrong and what to do. Record sizes change one after the other: those that changed
before the failure are in force. Fix the cause, then clear the task: it does the rest, and announces all of it.

| task | what to look at |
|---|---|
| action | nothing: it only decides which of the others run |
| approve | the store, which holds the cards. Cleared, it asks again |
| accept | the campaign's report and confirmation: only what was confirmed without losing a record is accepted |
| ask | this DAG: it must not be paused. If this run has asked about the same already, nobody is asked twice |
| roll_back | the record size, which it needs; the settings in force: without a version there is no way back |
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, task

from kafka_pareto_airflow.approval import CardApproval, QuestionTrigger
from kafka_pareto_airflow.assets import SETTINGS_IN_FORCE
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import (
    ACCEPT_ARGUMENTS,
    ROLL_BACK_ARGUMENTS,
    answer_parameters,
    in_force_parameters,
)
from kafka_pareto_airflow.steps.step_operator import step_task
from kafka_pareto_airflow.task_rules import RULES, dag_options

# Each open question is a run, and none may keep a move, or another question, waiting.
MOST_RUNS = 1000


def settings_dag(route: ClusterRoute) -> None:
    """Define the DAG that moves what is in force on one cluster."""
    of_this_cluster = f"--cluster={route.cluster}"
    with DAG(
        dag_id=route.settings_dag_id,
        description="Puts a measured configuration into force, asks a person, or goes back to the one before.",
        doc_md=__doc__,
        schedule=None,
        max_active_runs=MOST_RUNS,
        tags=["kafka", "rollout"],
        params=in_force_parameters(route.studies),
        **dag_options(route.queue),
    ):

        @task.branch(doc_md="Tells which of the other tasks runs first.", **RULES["action"])
        def action(params: dict[str, Any]) -> str:
            """Return the name of the task that runs first."""
            return "approve" if params["action"] == "ask" else str(params["action"])

        approve = CardApproval(
            task_id="approve",
            cluster=route.cluster,
            params=answer_parameters(),
            doc_md="Shows a person what is recommended, and waits for the answer.",
            **RULES["approve"],
        )
        accept = step_task(
            "accept",
            [*ACCEPT_ARGUMENTS, of_this_cluster],
            "Puts the campaign's recommendations, or one confirmed configuration, into force.",
            outlets=[SETTINGS_IN_FORCE],
            trigger_rule="none_failed_min_one_success",  # approve is skipped where nobody is asked
            max_active_tis_per_dag=1,  # two acceptances at once: one of them would fail
        )
        ask = QuestionTrigger(
            task_id="ask",
            trigger_dag_id=route.settings_dag_id,
            doc_md="Has a person asked anew, where the cluster has changed, or the answer came too late.",
        )
        roll_back = step_task(
            "roll_back",
            [*ROLL_BACK_ARGUMENTS, of_this_cluster],
            "Returns the record size to what was in force before.",
            outlets=[SETTINGS_IN_FORCE],
            max_active_tis_per_dag=1,
        )
        begun = action()
        begun >> [approve, accept, roll_back]
        approve >> accept >> ask


for route in cluster_routes():
    if route.studies or not route.cluster:
        settings_dag(route)
