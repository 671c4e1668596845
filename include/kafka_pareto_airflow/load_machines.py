"""Run load machines as Airflow tasks while a campaign or a check runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import BaseSensorOperator, Context

from kafka_pareto_airflow.clusters import ClusterRoute
from kafka_pareto_airflow.steps.graph import AnyTask
from kafka_pareto_airflow.task_rules import RULES

_POLL_S = 30  # each poll costs a second of CPU time; on the stack it competes with the load
_LONGEST = timedelta(days=7)


class LoadMachinesTrigger(TriggerDagRunOperator):
    """Start a run of the load machines' DAG for this run's campaign or check, which the task `first` has designed.

    The run's ID names the session, so that sessions sort by their start. If nothing is to be measured, none is started.
    """

    def __init__(self, *, first: str, is_check: bool, **kwargs: Any) -> None:
        # Airflow would skip all that follows a skipped setup task, such as a comparison without measurements.
        super().__init__(**{**kwargs, "fail_when_dag_is_paused": True, "trigger_rule": "none_failed"})
        self.first = first
        self.is_check = is_check

    def execute(self, context: Context) -> None:
        """Start the run."""
        ti = context["ti"]
        manifest = ti.xcom_pull(task_ids=self.first, key="manifest")
        if not manifest["cases"]:
            return
        designed = {"study": manifest["study"], "campaign": manifest["campaign"], "check": self.is_check}
        self.conf = {**designed, "dag_id": ti.dag_id, "run_id": ti.run_id}
        self.trigger_run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}"
        super().execute(context)


class RunEnd(BaseSensorOperator):
    """Wait until the run named by the parameters `dag_id` and `run_id` has ended, without holding a task slot."""

    def __init__(self, **kwargs: Any) -> None:
        # One failed poll, as while Airflow's API restarts, must not stop the machines in the middle of a load.
        polling = {"mode": "reschedule", "poke_interval": _POLL_S, "silent_fail": True, "timeout": _LONGEST}
        super().__init__(**{**kwargs, **polling})

    def poke(self, context: Context) -> bool:
        """Return whether it has ended."""
        run = context["params"]
        if not run["run_id"]:
            return True
        return context["ti"].get_dagrun_state(run["dag_id"], run["run_id"]) not in ("queued", "running")


def start_load_machines(route: ClusterRoute, first: AnyTask, first_load: AnyTask, *, is_check: bool = False) -> None:
    """Add a task that starts the load machines before the first load; none if no study of the cluster has any.

    It is a setup task: Airflow runs it again if a load, or any later task, is cleared.
    """
    if not route.has_load_machines:
        return
    start = LoadMachinesTrigger(
        task_id="start_load_machines",
        first=first.task_id,
        is_check=is_check,
        trigger_dag_id=route.load_machines_dag_id,
        doc_md=f"Starts a run of {route.load_machines_dag_id}, which ends with this one, or at once if it needs none.",
        **RULES["start_load_machines"],
    )
    start.as_setup()
    first >> start >> first_load
