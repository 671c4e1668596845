"""Tune a Kafka producer.

Measures settings on the cluster itself, learns their effect, and searches for the best ones. Measures the best again,
in blocks with the baseline. Writes a decision card and the client's settings for each case (for a producer, a record
size). The recommendations then become active: immediately or, with the parameter `approval`, after
approval in a run of `settings_in_force`.

**Inputs**: a study (`include/studies/*.yaml`) and the parameters of the trigger form. An empty field keeps the study's
value. To resume an earlier run, name its campaign; stored repetitions are not measured again.

A study with `strategy: rounds` continues after its design. Each round measures the configurations that the surrogates
rate highest, as long as the measured hypervolume increases. The graph has the maximum number of rounds; unneeded ones
are skipped. If the `validate` task of a round fails, the campaign stops. To run a skipped round, clear its `propose`,
not its `measure`.

**Outputs**: in the store, under `<study>/<campaign>/`: the frozen `study.yaml`, `round=00/01_design.parquet` …
`05_front/` and the same for each further round, `06_confirmation/` and `07_report/` (cards, client settings, figures,
an HTML page). In MLflow: one run per campaign. Activated settings are versions under `_in_force/<study>/<case>/`. Other
DAGs can be scheduled on the assets `kafka_producer_recommendation` and `kafka_producer_settings_in_force`, whose events
contain the same data.

A study with a named cluster (`cluster: {name: …}`) has its own DAG, `tune_producer_<cluster>`. That DAG has its own
pool and, for an executor with queues, the queue `kafka_<cluster>`. Several clusters can therefore be tuned
simultaneously, each by workers near it.

A pending approval waits in `settings_in_force`, so it does not delay the next campaign or check.

## When a task fails
The last lines of its log name the error and the fix. If a task logs `error: …` and is not retried, its input is
invalid. All other failed tasks have been retried already. Fix the cause, then clear the failed task with its downstream
tasks, or trigger a run with the same campaign. All measurements are kept.

| task | what to check |
|---|---|
| design | the study, the parameters, the plan's time and disk, the consent for an existing cluster |
| start_load_machines | `load_machines` must not be paused. Only for clusters one of whose studies has load machines |
| propose | the trials and fronts of the previous round. A stored decision is kept |
| measure | the brokers and the topic. Once cleared, it resumes after the last stored repetition |
| validate | the Data Docs under `03_validation/`: rejected rows with reasons. Fix the cause and start a new campaign |
| train | the round's trials, `03_trials.parquet` |
| optimize | the study's constraints and search; the surrogates |
| confirm | as for `measure` |
| report | the store and the MLflow server. All measurements are done |
| accept | the store. Once cleared, it completes the activation and announces all of it again |
| ask | whether `settings_in_force` is paused. A repeated task does not ask again |
"""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_pareto.steps.pipeline import tune
from kafka_pareto_airflow.approval import QuestionTrigger
from kafka_pareto_airflow.assets import ACTIVE_SETTINGS, RECOMMENDATION
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import ACTIVATE_ARGUMENTS, TUNE_DESIGN_ARGUMENTS, tune_parameters
from kafka_pareto_airflow.load_machines import start_load_machines
from kafka_pareto_airflow.steps.graph import DagGraph
from kafka_pareto_airflow.task_rules import dag_options


def tune_dag(route: ClusterRoute) -> None:
    """Define the DAG that tunes one cluster."""
    with DAG(
        dag_id=route.tune_dag_id,
        description="Finds the best client settings for a Kafka cluster by measurements on that cluster.",
        doc_md=__doc__,
        schedule=None,
        max_active_runs=1,  # training would disturb another campaign's measurements
        tags=["kafka", "tuning"],
        params=tune_parameters(route.studies),
        **dag_options(route.queue),
    ) as dag:
        graph = DagGraph(
            route.pool,
            arguments={
                "design": TUNE_DESIGN_ARGUMENTS,
                "accept": [*ACTIVATE_ARGUMENTS, f"--cluster={route.cluster}"],
            },
            more={
                "confirm": {"trigger_rule": "none_failed"},  # unneeded rounds are skipped
                "report": {"outlets": [RECOMMENDATION]},
                "accept": {"outlets": [ACTIVE_SETTINGS]},
            },
        )
        accept = tune(graph)
        start_load_machines(route, dag.get_task("design"), graph.loads[0])
        ask = QuestionTrigger(
            task_id="ask",
            trigger_dag_id=route.settings_dag_id,
            doc_md="Starts a run of settings_in_force that requests approval, if needed.",
        )

        accept >> ask


for route in cluster_routes():
    if route.studies:
        tune_dag(route)
