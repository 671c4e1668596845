"""Tunes a Kafka producer.

Measures producer settings on the cluster itself, learns how they act, and searches for the best ones. Measures those
again, beside the baseline. Hands over a decision card and a `producer.properties` for each record size.
The recommendations then come into force: at once or, with the parameter `approval`, after a person has approved them in
a run of `settings_in_force`.

**Inputs**: a study (`include/studies/*.yaml`) and the parameters of the trigger form. An empty field keeps the study's
value. To go on with an earlier run, name its campaign: what it has measured is not measured again.

A study with `strategy: rounds` goes on after its design. Each round measures what the surrogates expect most of, for as
long as the measured hypervolume rises. The graph holds as many rounds as a study may ask for; those that are not needed
are skipped. If the `validate` of a round fails, the campaign stops. To run a skipped round, clear its `propose`, not
its `measure`.

**Outputs**: in the store, under `<study>/<campaign>/`: the frozen `study.yaml`, `round=00/01_design.parquet` …
`05_front/` and the same for each further round, `06_confirmation/` and `07_report/` (cards, `producer.properties`,
figures, one HTML page). In MLflow: one run per campaign. What came into force is a version below
`_in_force/<study>/<record size>/`. The events of the assets `kafka_producer_recommendation` and
`kafka_producer_settings_in_force` carry the same, so that other DAGs can be scheduled on them.

A study that names its cluster (`cluster: {name: …}`) has a DAG of its own, `tune_producer_<cluster>`. That DAG has its
own pool and, for an executor with queues, the queue `kafka_<cluster>`. So several clusters are tuned at once, each by
workers near it.

A question to a person waits in `settings_in_force`, not here: the next campaign, and the next check, go on meanwhile.

## When a task fails
The last lines of its log say what is wrong and what to do. A task that says `error: …` and is not retried was given
something that cannot be used. The others have been retried already. Fix the cause, then clear the failed task with its
downstream tasks, or trigger a run with the same campaign. Nothing that was measured is lost.

| task | what to look at |
|---|---|
| design | the study, the parameters, a plan that does not fit, the consent that a cluster of your own needs |
| propose | the trials and fronts of the round before. A decision that was stored stays |
| measure | brokers and topic. Cleared, it goes on after the last repetition in the store |
| validate | the Data Docs under `03_validation/`: rows set aside, and why. Fix the cause and start a new campaign |
| train | the round's trials, `03_trials.parquet` |
| optimize | the study's constraints and search; the surrogates |
| confirm | as measure |
| report | the store, and the MLflow server. Everything that it needs has been measured |
| accept | the store. Cleared, it does the rest, and announces all of it again |
| ask | `settings_in_force`: it must not be paused. If this run has asked already, nobody is asked twice |
"""

from __future__ import annotations

from airflow.sdk import DAG

from kafka_pareto.steps.pipeline import tune
from kafka_pareto_airflow.approval import QuestionTrigger
from kafka_pareto_airflow.assets import RECOMMENDATION, SETTINGS_IN_FORCE
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
                "accept": {"outlets": [SETTINGS_IN_FORCE]},
            },
        )
        accept = tune(graph)
        ask = QuestionTrigger(
            task_id="ask",
            trigger_dag_id=route.settings_dag_id,
            doc_md="Has a person asked, in a run of settings_in_force, where one must decide.",
        )

        accept >> ask


for route in cluster_routes():
    if route.studies:
        tune_dag(route)
