"""Compare configurations: what each level of a setting does beside a reference.

Measures every level of each part of a study once in each block, in random order, the reference included. Compares each
level with the reference, with intervals, and writes tables, figures and one HTML page.

**Inputs**: a study (`include/studies/*.yaml` with `kind: compare`) and the parameters of the trigger form. An empty
field keeps the study's value. To resume an earlier run, name its campaign: nothing is measured twice.

**Outputs**: in the store, under `<study>/<campaign>/`: the frozen `study.yaml`, `round=00/01_design.parquet`,
`02_measurements/` and `03_validation/`, `04_comparison/` (a record for each part) and `07_report/` (tables as text and
CSV, figures, one HTML page). In MLflow: one run per campaign, and one below it for each part.

A study that names its cluster (`cluster: {name: …}`) has a DAG of its own, `compare_configurations_<cluster>`, with its
own pool. Brokers of a study's own (`testbed: {brokers: 3}`) start and end with each `measure` task, in the pool of the
installation's cluster: they share its machine.

## When a task fails
The last lines of its log name the error and the fix. A task that says `error: …` and is not retried got input that it
cannot use. Any other failed task has been retried already. Fix the cause, then clear the failed task with its
downstream tasks, or trigger a run with the same campaign. No measurement is lost.

| task | what to look at |
|---|---|
| design | the study, the parameters, a plan that does not fit, missing consent for a cluster of your own |
| measure | brokers and topic. Cleared, it resumes after the last stored repetition |
| validate | the Data Docs under `03_validation/`: rejected rows, with reasons. Fix the cause and start a new campaign |
| compare | the store |
| report | the store, and the MLflow server. All it needs has been measured |
"""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_pareto.steps.pipeline import compare
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import COMPARE_DESIGN_ARGUMENTS, comparison_parameters
from kafka_pareto_airflow.steps.graph import DagGraph
from kafka_pareto_airflow.task_rules import dag_options


def compare_dag(route: ClusterRoute) -> None:
    """Define the DAG that compares configurations on one cluster."""
    with DAG(
        dag_id=route.compare_dag_id,
        description="Measures what each level of a setting does beside a reference.",
        doc_md=__doc__,
        schedule=None,
        max_active_runs=1,
        tags=["kafka", "comparison"],
        params=comparison_parameters(route.comparisons),
        **dag_options(route.queue),
    ):
        compare(DagGraph(route.pool, arguments={"design": COMPARE_DESIGN_ARGUMENTS}))


for route in cluster_routes():
    if route.comparisons:
        compare_dag(route)
