"""Run load machines for a campaign or a check.

A producer study with `protocol.load_machines: 3` sends each load from three machines. Each task `run_load_machine` is
one of them: it sends from the machine where its worker runs. The campaign's `measure` task connects to it over TLS.

With `KAFKA_PARETO_LOAD_MACHINES=airflow`, `tune_producer`, `compare_configurations` and `retune_producer` start such a
run before they measure, and it stops when they end. Without that setting, the run ends at once.

Each cluster with such a study has its own DAG: `load_machines`, or `load_machines_<cluster>` for a named cluster.
Each machine needs a task slot. With Celery or Edge workers, machines run in the queue `kafka_load`, or
`kafka_<cluster>_load`: on each machine, start a worker that listens to it, with a concurrency of 1.

**Inputs**: the study, the campaign or check and the run that measures it, from the DAG that starts this one.

**Outputs**: none. While a machine runs, its address is in the store, under the campaign's `load_machines/`.

## When a task fails
The last lines of its log name the error and the fix. Fix the cause, then clear the campaign's or check's failed
measuring task, which starts another run of this DAG.

| task | what to check |
|---|---|
| list_load_machines | the store |
| run_load_machine | on the worker's machine: the load machines' key, the cluster's login, Java; the task slots |
| wait_for_the_end | whether the measuring run exists. The machines are stopped even if this task fails |
| stop_load_machines | the store. Once cleared, it stops the machines |
"""

from __future__ import annotations

from airflow.sdk import DAG, Param

from kafka_pareto.study.identifiers import MOST_PRODUCERS
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.load_machines import RunEnd
from kafka_pareto_airflow.steps.step_operator import step_for_each, step_task
from kafka_pareto_airflow.task_rules import RULES, dag_options

ARGUMENTS = [
    "--study={{ params.study }}",
    "--campaign={{ params.campaign }}",
    "{% if params.check %}--check{% endif %}",
]
SESSION = "--session={{ run_id }}"


def load_machines_dag(route: ClusterRoute) -> None:
    """Define the DAG that runs load machines for one cluster's campaigns and checks."""
    with DAG(
        dag_id=route.load_machines_dag_id,
        description="Runs load machines for a campaign or a check.",
        doc_md=__doc__,
        schedule=None,
        max_active_tasks=2 * MOST_PRODUCERS,
        tags=["kafka"],
        params={
            "study": Param("", type="string", description="The study of the campaign or check."),
            "campaign": Param("", type="string", description="The ID of the campaign or check."),
            "check": Param(False, type="boolean", description="Whether it is a check."),
            "dag_id": Param("", type="string", description="The DAG whose run measures it."),
            "run_id": Param("", type="string", description="That run; the machines stop when it ends."),
        },
        **dag_options(route.queue),
    ):
        needed = step_task("list_load_machines", ARGUMENTS, "Lists the load machines that the campaign needs.")
        step_for_each(
            needed.output,
            "run_load_machine",
            [*ARGUMENTS, SESSION],
            "Sends loads from its worker's machine until the session is stopped.",
            map_index_template="machine {{ task.case }}",
            queue=route.load_machines_queue,
        )
        end = RunEnd(
            task_id="wait_for_the_end",
            doc_md="Waits until the campaign's or check's run has ended.",
            **RULES["wait_for_the_end"],
        )
        stop = step_task(
            "stop_load_machines",
            [*ARGUMENTS, SESSION],
            "Stops the session's load machines.",
            trigger_rule="none_skipped",  # even if the wait failed
        )
        needed >> end >> stop


for route in cluster_routes():
    if route.has_load_machines:
        load_machines_dag(route)
