"""Define retries and timeouts of all DAG tasks, each with its reason, and the DAGs' common arguments."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypedDict

from kafka_pareto_airflow.notify.notices import FailureNotifier

OWNER = "kafka-pareto"
CASE_LABEL = "{{ task.case }}{{ ' B' if task.case.isdecimal() }}"
"""Labels a mapped task by its case: `8192 B` for a record size, other cases unchanged, such as `pipeline`."""


class Rule(TypedDict):
    """The retry and timeout arguments of a task."""

    retries: int
    retry_delay: timedelta
    execution_timeout: timedelta | None


def _rule(retries: int, after: timedelta, timeout: timedelta | None) -> Rule:
    return {"retries": retries, "retry_delay": after, "execution_timeout": timeout}


# The store, a broker or Airflow's own API may be just starting.
_QUICK = _rule(retries=2, after=timedelta(seconds=10), timeout=timedelta(minutes=10))
# A broker may die and restart; a retry measures only the missing repetitions.
_MEASURING = _rule(retries=3, after=timedelta(seconds=20), timeout=timedelta(hours=12))
# The MLflow server or the store may be restarting. Training continues without MLflow.
_COMPUTING = _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=30))
_LEARNING = _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(hours=1))

RULES: dict[str, Rule] = {
    "design": _QUICK,
    "compare": _COMPUTING,
    "propose": _COMPUTING,
    "measure": _MEASURING,
    # A retry of the gate would give the same result.
    "validate": _rule(retries=0, after=timedelta(0), timeout=timedelta(minutes=30)),
    "train": _LEARNING,
    "optimize": _LEARNING,
    "confirm": _MEASURING,
    "report": _COMPUTING,
    # The store may be restarting. A timeout would count as the person's answer; a late answer is asked for again.
    "approve": _rule(retries=2, after=timedelta(seconds=10), timeout=None),
    # An active version is not created twice.
    "accept": _QUICK,
    "action": _QUICK,
    "roll_back": _QUICK,
    "check": _QUICK,
    "check_measure": _MEASURING,
    # Like `report`, with less data.
    "check_compare": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=10)),
    "clean_up": _COMPUTING,
    # SQLite allows one writer at a time, and the scheduler writes too.
    "clean_database": _COMPUTING,
    "start_load_machines": _QUICK,
    "stop_load_machines": _QUICK,
    "list_load_machines": _QUICK,
    # Its worker's machine may be restarting. After the timeout, a retry takes over; the load waits for it.
    "run_load_machine": _MEASURING,
    "wait_for_the_end": _QUICK,
    "tune": _QUICK,
    "ask": _QUICK,
}


def dag_options(queue: str) -> dict[str, Any]:
    """Return the arguments that all DAGs of a cluster share; its tasks run in this queue.

    No DAG starts paused: it runs only if triggered or scheduled by its study.
    """
    return {
        "catchup": False,
        "is_paused_upon_creation": False,
        "default_args": {"owner": OWNER, "queue": queue},
        "on_failure_callback": FailureNotifier(),
    }
