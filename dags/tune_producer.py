"""Tune a Kafka producer.

Measures producer settings on the cluster itself, learns their effect, and searches for the best ones. Measures the best
again, in blocks with the baseline. Writes a decision card and a `producer.properties` for each record size. The
recommendations then become active: at once or, with the parameter `approval`, after a person has approved them in a
run of `settings_in_force`.

**Inputs**: a study (`include/studies/*.yaml`) and the parameters of the trigger form. An empty field keeps the study's
value. To resume an earlier run, name its campaign: nothing is measured twice.

A study with `strategy: rounds` continues after its design. Each round measures the configurations that the surrogates
rate highest, as long as the measured hypervolume rises. The graph holds the maximum number of rounds; those that are
not needed are skipped. If the `validate` of a round fails, the campaign stops. To run a skipped round, clear its
`propose`, not its `measure`.

**Outputs**: in the store, under `<study>/<campaign>/`: the frozen `study.yaml`, `round=00/01_design.parquet` …
`05_front/` and the same for each further round, `06_confirmation/` and `07_report/` (cards, `producer.properties`,
figures, one HTML page). In MLflow: one run per campaign. What became active is a version below
`_in_force/<study>/<record size>/`. The events of the assets `kafka_producer_recommendation` and
`kafka_producer_settings_in_force` carry the same, so that other DAGs can be scheduled on them.

A study that names its cluster (`cluster: {name: …}`) has a DAG of its own, `tune_producer_<cluster>`. That DAG has its
own pool and, for an executor with queues, the queue `kafka_<cluster>`. So several clusters can be tuned at once, each
by workers near it.

A question to a person waits in `settings_in_force`, not here: the next campaign and the next check need not wait.

## When a task fails
The last lines of its log name the error and the fix. A task that says `error: …` and is not retried got input that it
cannot use. Any other failed task has been retried already. Fix the cause, then clear the failed task with its
downstream tasks, or trigger a run with the same campaign. No measurement is lost.

| task | what to look at |
|---|---|
| design | the study, the parameters, a plan that does not fit, missing consent for a cluster of your own |
| propose | the trials and fronts of the round before. A stored decision stays |
| measure | brokers and topic. Cleared, it resumes after the last stored repetition |
| validate | the Data Docs under `03_validation/`: rejected rows, with reasons. Fix the cause and start a new campaign |
| train | the round's trials, `03_trials.parquet` |
| optimize | the study's constraints and search; the surrogates |
| confirm | as for measure |
| report | the store, and the MLflow server. All it needs has been measured |
| accept | the store. Cleared, it does the rest and announces everything again |
| ask | `settings_in_force` must not be paused. If this run has asked already, nobody is asked twice |
"""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_pareto.steps.pipeline import tune
from kafka_pareto_airflow.approval import QuestionTrigger
from kafka_pareto_airflow.assets import ACTIVE_SETTINGS, RECOMMENDATION
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import HAND_OVER_ARGUMENTS, TUNE_DESIGN_ARGUMENTS, tune_parameters
from kafka_pareto_airflow.steps.graph import DagGraph
from kafka_pareto_airflow.task_rules import dag_options


def tune_dag(route: ClusterRoute) -> None:
    """Define the DAG that tunes one cluster."""
    with DAG(
        dag_id=route.tune_dag_id,
        description="Finds the best producer settings for a Kafka cluster, measured on the cluster itself.",
        doc_md=__doc__,
        schedule=None,
        max_active_runs=1,  # a campaign that trains would disturb the one that measures
        tags=["kafka", "tuning"],
        params=tune_parameters(route.studies),
        **dag_options(route.queue),
    ):
        graph = DagGraph(
            route.pool,
            arguments={
                "design": TUNE_DESIGN_ARGUMENTS,
                "accept": [*HAND_OVER_ARGUMENTS, f"--cluster={route.cluster}"],
            },
            more={
                "confirm": {"trigger_rule": "none_failed"},  # rounds that are not needed are skipped
                "report": {"outlets": [RECOMMENDATION]},
                "accept": {"outlets": [ACTIVE_SETTINGS]},
            },
        )
        accept = tune(graph)
        ask = QuestionTrigger(
            task_id="ask",
            trigger_dag_id=route.settings_dag_id,
            doc_md="Starts a run of settings_in_force that asks a person, if one must decide.",
        )

        accept >> ask


for route in cluster_routes():
    if route.studies:
        tune_dag(route)
