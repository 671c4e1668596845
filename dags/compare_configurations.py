"""Compare configurations: the effect of each level of a setting relative to a reference.

Measures every level of each part of a study, including the reference, once per block in random order. Compares each
level with the reference, with intervals, and writes tables, figures and an HTML page.

**Inputs**: a study (`include/studies/*.yaml` with `kind: compare`) and the parameters of the trigger form. An empty
field keeps the study's value. To resume an earlier run, name its campaign; stored repetitions are not measured again.

**Outputs**: in the store, under `<study>/<campaign>/`: the frozen `study.yaml`, `round=00/01_design.parquet`,
`02_measurements/` and `03_validation/`, `04_comparison/` (one record per part) and `07_report/` (tables as text and
CSV, figures, an HTML page). In MLflow: one run per campaign, with a child run per part.

A study with a named cluster (`cluster: {name: …}`) has its own DAG, `compare_configurations_<cluster>`, with its own
pool. A study's own brokers (`testbed: {brokers: 3}`) start and stop with each `measure` task, in the pool of the
stack's cluster, because they share its machine.

## When a task fails
The last lines of its log name the error and the fix. If a task logs `error: …` and is not retried, its input is
invalid. All other failed tasks have been retried already. Fix the cause, then clear the failed task with its downstream
tasks, or trigger a run with the same campaign. All measurements are kept.

| task | what to check |
|---|---|
| design | the study, the parameters, the plan's time and disk, the consent for an existing cluster |
| start_load_machines | `load_machines` must not be paused. Only for clusters one of whose studies has load machines |
| measure | the brokers and the topic. Once cleared, it resumes after the last stored repetition |
| validate | the Data Docs under `03_validation/`: rejected rows with reasons. Fix the cause and start a new campaign |
| compare | the store |
| report | the store and the MLflow server. All measurements are done |
"""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_pareto.steps.pipeline import compare
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import COMPARE_DESIGN_ARGUMENTS, comparison_parameters
from kafka_pareto_airflow.load_machines import start_load_machines
from kafka_pareto_airflow.steps.graph import DagGraph
from kafka_pareto_airflow.task_rules import dag_options


def compare_dag(route: ClusterRoute) -> None:
    """Define the DAG that compares configurations on one cluster."""
    with DAG(
        dag_id=route.compare_dag_id,
        description="Measures the effect of each level of a setting relative to a reference.",
        doc_md=__doc__,
        schedule=None,
        max_active_runs=1,
        tags=["kafka", "comparison"],
        params=comparison_parameters(route.comparisons),
        **dag_options(route.queue),
    ) as dag:
        graph = DagGraph(route.pool, arguments={"design": COMPARE_DESIGN_ARGUMENTS})
        compare(graph)
        start_load_machines(route, dag.get_task("design"), graph.loads[0])


for route in cluster_routes():
    if route.comparisons:
        compare_dag(route)
