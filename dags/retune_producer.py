"""Check the active settings, and tune again if they have drifted.

Measures a study's active settings and the baseline, in blocks. Compares their ratio with the confirmed one: a slower
machine slows both down, which is not drift. Without drift, the DAG records the result and ends. It starts
`tune_producer` for cases whose ratio has changed by more than the study allows, for cases that lost records, and if the
cluster or the study has changed.

`retune_producer` is triggered manually or by an event of the asset `kafka_producer_check_wanted`. The event's extra
names the study: `{"study": "steady"}`. One run checks one study: if events of several studies arrive during a check,
the next run rejects them. A study with `retune.schedule` also has its own DAG, `retune_producer_<study>`, which runs on
that schedule, in UTC. After a downtime there is one check, not one per missed time. A study with a named cluster has
such a DAG too, and only that DAG checks it, whether triggered manually, by schedule or by events. An event reaches all
checking DAGs; in those that do not check its study, `check` logs this and all other tasks are skipped. Checks and
campaigns share the cluster's one slot, so two runs never overlap.

**Inputs**: the study; its active settings; its section `retune`.

**Outputs**: in the store, under `_checks/<study>/<check>/`: the frozen `study.yaml`, `plan.json`, the repetitions, and
the result, `08_check.json`. In MLflow: the study's run `checks`, with one step per check. The asset
`kafka_producer_drift` gets an event if a case is tuned again.

## When a task fails
The last lines of its log name the error and the fix. Fix the cause, then clear the failed task with its downstream
tasks. All measurements are kept.

| task | what to check |
|---|---|
| check | the study, its cluster and its consent; the campaign that the active settings come from |
| start_load_machines | `load_machines` must not be paused. Only for clusters one of whose studies has load machines |
| check_measure | the brokers and the topic. Once cleared, it resumes after the last stored repetition |
| check_compare | the store and the MLflow server. A stored decision is kept |
| tune | whether `tune_producer` is paused. A repeated task does not start a second run |
"""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import (  # type: ignore[attr-defined]  # the SDK's stub file lacks these three
    DAG,
    Asset,
    AssetOrTimeSchedule,
    AsyncCallback,
    CronTriggerTimetable,
    DeadlineAlert,
    DeadlineReference,
)

from kafka_pareto.study.identifiers import retune_dag_of
from kafka_pareto.study.retune import Retune
from kafka_pareto_airflow.assets import CHECK_WANTED, DRIFT
from kafka_pareto_airflow.clusters import ClusterRoute, cluster_routes
from kafka_pareto_airflow.forms import DEFAULT_STUDY, study_names, study_parameter
from kafka_pareto_airflow.load_machines import start_load_machines
from kafka_pareto_airflow.notify.overdue import report_overdue
from kafka_pareto_airflow.retuning import CheckedStudies, studies_with_checks_of_their_own
from kafka_pareto_airflow.steps.step_operator import step_for_each, step_task
from kafka_pareto_airflow.task_rules import RULES, dag_options

Schedule: TypeAlias = CronTriggerTimetable | AssetOrTimeSchedule | list[Asset] | None


def schedule_of(retune: Retune, *, takes_events: bool) -> Schedule:
    """Return the schedule of checks: times in UTC, events, both, or None for manual runs only."""
    events = [CHECK_WANTED] if takes_events else None
    if retune.schedule is None:
        return events
    # Otherwise Airflow would start with the latest past time, up to a tenth of the interval ago.
    timetable = CronTriggerTimetable(retune.schedule, timezone="UTC", run_immediately=timedelta(0))
    return AssetOrTimeSchedule(timetable=timetable, assets=events) if events else timetable


def retune_dag(study: str, retune: Retune, route: ClusterRoute, checked: CheckedStudies, schedule: Schedule) -> DAG:
    """Return the DAG that checks the active settings of one study, or of the requested study."""
    arguments = checked.arguments()
    with DAG(
        dag_id=retune_dag_of(checked.only),
        description="Checks the active settings on the cluster itself, and tunes again after drift.",
        doc_md=__doc__,
        schedule=schedule,
        max_active_runs=1,
        tags=["kafka", "tuning"],
        params=study_parameter(route.studies or study_names(), study, "The study whose active settings are checked."),
        **dag_options(route.queue),
        deadline=DeadlineAlert(
            reference=DeadlineReference.DAGRUN_QUEUED_AT,
            interval=timedelta(minutes=retune.deadline_minutes),
            callback=AsyncCallback(report_overdue),
        ),
    ) as dag:
        check = step_task(
            "check",
            arguments,
            "Reads the active settings, and checks whether they are comparable with their confirmation.",
            pre_execute=checked.leave_others,
        )
        measure = step_for_each(
            check.output,
            "check_measure",
            arguments,
            "Measures the active settings and the baseline in blocks, for one case.",
            pool=route.pool,
        )
        compare = step_task(
            "check_compare",
            arguments,
            "Distinguishes drift from noise, and selects the cases to tune again.",
            outlets=[DRIFT],
            trigger_rule="none_failed",  # even without measurements, a case may have to be tuned
        )
        tune = TriggerDagRunOperator(
            task_id="tune",
            trigger_dag_id=route.tune_dag_id,
            trigger_run_id="retune__{{ dag.dag_id }}__{{ run_id }}",
            conf="{{ ti.xcom_pull(task_ids='check_compare', key='manifest')['event']['tune'] | tojson }}",
            skip_when_already_exists=True,
            doc_md="Starts tune_producer for the cases that have drifted.",
            **RULES["tune"],
        )
        check >> measure >> compare >> tune
        start_load_machines(route, check, measure, is_check=True)
    return dag


own, *others = cluster_routes()
named = {study: route for route in others for study in route.studies}
with_own_checks = studies_with_checks_of_their_own(named)
# An unreadable study has no DAG of its own; the common DAG reports the error.
all_others = CheckedStudies(elsewhere=tuple(name for name in named if name in with_own_checks))
if own.studies or named:  # a folder may contain comparisons only
    retune_dag(DEFAULT_STUDY, Retune(), own, all_others, schedule_of(Retune(), takes_events=True))
for name, retune in with_own_checks.items():
    schedule = schedule_of(retune, takes_events=name in named)
    retune_dag(name, retune, named.get(name, own), CheckedStudies(only=name), schedule)
