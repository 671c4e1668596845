"""# Check the settings in force, and tune again where they have drifted

Measures what is in force for a study, beside the baseline, in blocks, and compares their ratio with the one that was
confirmed: a slower machine slows both down, and is no drift. Where nothing has changed it records that and ends. Where
a ratio has changed by more than the study allows, where records were lost, or where the cluster or the study are no
longer the same, it starts `tune_producer` for those record sizes.

`retune_producer` runs by hand and by an event of the asset `kafka_producer_check_wanted`, whose extra names the study:
`{"study": "steady"}`; events of several studies that come while a check runs are refused, one run having one study. A
study with `retune.schedule` has a DAG of its own beside it, `retune_producer_<study>`, which runs by that schedule, in
UTC; after a downtime there is one check, not one for each that was missed. So has one that names its cluster: it is
checked by that DAG alone. Checks and campaigns share the cluster's one slot, so that there are never two loads at once.

**Inputs**: the study; what is in force for it; its section `retune`.

**Outputs**, in the store under `_checks/<study>/<check>/`: the frozen `study.yaml`, `plan.json`, the repetitions, and
`08_check.json`, what came of it; in MLflow the run `checks` of the study, with one step per check. The asset
`kafka_producer_drift` has an event where something is tuned again.

## When a task fails
The last lines of its log say what is wrong and what to do. After mending the cause, clear the failed task (its
downstream tasks go with it). Nothing that was measured is lost.

| task | what to look at |
|---|---|
| check | the study, its cluster and its consent; the campaign that the settings in force come from |
| check_measure | brokers and topic; it goes on after the last repetition in the store |
| check_compare | the store; the MLflow server. What was decided is kept |
| tune | `tune_producer`: it must not be paused; a run of this check that is there already is not started twice |
"""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import (  # type: ignore[attr-defined]  # the SDK's stub file lacks the three of deadlines
    DAG,
    Asset,
    AsyncCallback,
    CronTriggerTimetable,
    DeadlineAlert,
    DeadlineReference,
)

from kafka_pareto.study.identifiers import retune_dag_of
from kafka_pareto.study.retune import Retune
from kafka_pareto_airflow.assets import CHECK_WANTED, DRIFT
from kafka_pareto_airflow.clusters import ClusterRoute, own_route, routes_of_studies
from kafka_pareto_airflow.forms.parameters import DEFAULT_STUDY
from kafka_pareto_airflow.notify.notices import FailureNotifier
from kafka_pareto_airflow.notify.overdue import tell_overdue
from kafka_pareto_airflow.retuning import CHECK_ARGUMENTS, retune_parameters, studies_with_checks_of_their_own
from kafka_pareto_airflow.steps.step_operator import StepOperator
from kafka_pareto_airflow.task_rules import OWNER, RULES


def timetable(schedule: str | None) -> CronTriggerTimetable | None:
    # Airflow would otherwise begin with the time that has just passed, up to a tenth of the interval ago.
    if schedule is None:
        return None
    return CronTriggerTimetable(schedule, timezone="UTC", run_immediately=timedelta(0))


def retune_dag(
    dag_id: str, study: str, retune: Retune, schedule: CronTriggerTimetable | list[Asset] | None, route: ClusterRoute
) -> DAG:
    with DAG(
        dag_id=dag_id,
        description="Checks the settings in force on the cluster itself, and tunes again where they have drifted.",
        doc_md=__doc__,
        schedule=schedule,
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,  # who writes a schedule into a study wants it kept
        tags=["kafka", "tuning"],
        default_args={"owner": OWNER, "queue": route.queue},
        params=retune_parameters(study, route.studies),
        on_failure_callback=FailureNotifier(),
        deadline=DeadlineAlert(
            reference=DeadlineReference.DAGRUN_QUEUED_AT,
            interval=timedelta(minutes=retune.deadline_minutes),
            callback=AsyncCallback(tell_overdue),
        ),
    ) as dag:
        check = StepOperator(
            task_id="check",
            step="check",
            arguments=CHECK_ARGUMENTS,
            doc_md="Reads what is in force, and whether it can be compared with what it was confirmed with.",
            **RULES["check"],
        )
        measure = StepOperator.partial(
            task_id="check_measure",
            step="check_measure",
            arguments=CHECK_ARGUMENTS,
            pool=route.pool,
            map_index_template="{{ task.case }} B",
            doc_md="Measures the settings in force and the baseline in blocks, for one record size.",
            **RULES["check_measure"],
        ).expand(case=check.output)
        compare = StepOperator(
            task_id="check_compare",
            step="check_compare",
            arguments=CHECK_ARGUMENTS,
            outlets=[DRIFT],
            trigger_rule="none_failed",  # where nothing can be measured, something may be to tune all the same
            doc_md="Tells drift from noise, and names the record sizes that are tuned again.",
            **RULES["check_compare"],
        )
        tune = TriggerDagRunOperator(
            task_id="tune",
            trigger_dag_id=route.tune_dag_id,
            trigger_run_id="retune__{{ dag.dag_id }}__{{ run_id }}",
            conf="{{ ti.xcom_pull(task_ids='check_compare', key='manifest')['event']['tune'] | tojson }}",
            skip_when_already_exists=True,
            doc_md="Starts tune_producer for the record sizes that have drifted.",
            **RULES["tune"],
        )
        check >> measure >> compare >> tune
    return dag


own, named = own_route(), routes_of_studies()  # asked once: they read every study
retune_dag(retune_dag_of(""), DEFAULT_STUDY, Retune(), [CHECK_WANTED], own)
for name, retune in studies_with_checks_of_their_own(named).items():
    retune_dag(retune_dag_of(name), name, retune, timetable(retune.schedule), named.get(name, own))
