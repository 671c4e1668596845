"""Define how often and how long each task of the DAGs is tried, each rule with its reason, and what all DAGs share."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypedDict

from kafka_pareto_airflow.notify.notices import FailureNotifier

OWNER = "kafka-pareto"
CASE_LABEL = "{{ task.case }}{{ ' B' if task.case.isdecimal() }}"
"""Labels a mapped task by its case: `8192 B` for a record size, any other unchanged, as `pipeline`."""


class Rule(TypedDict):
    """The arguments of a task that say how often and how long it is tried."""

    retries: int
    retry_delay: timedelta
    execution_timeout: timedelta | None


def _rule(retries: int, after: timedelta, timeout: timedelta | None) -> Rule:
    return {"retries": retries, "retry_delay": after, "execution_timeout": timeout}


# The store, a broker or Airflow's own API may be just starting.
_QUICK = _rule(retries=2, after=timedelta(seconds=10), timeout=timedelta(minutes=10))
# A broker may die and come back; a retry measures only what is missing.
_MEASURING = _rule(retries=3, after=timedelta(seconds=20), timeout=timedelta(hours=12))
# The MLflow server or the store may be restarting. Training continues without MLflow.
_COMPUTING = _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=30))
_LEARNING = _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(hours=1))

RULES: dict[str, Rule] = {
    "design": _QUICK,
    "compare": _COMPUTING,
    "propose": _COMPUTING,
    "measure": _MEASURING,
    # A gate that is asked again must give the same answer.
    "validate": _rule(retries=0, after=timedelta(0), timeout=timedelta(minutes=30)),
    "train": _LEARNING,
    "optimize": _LEARNING,
    "confirm": _MEASURING,
    "report": _COMPUTING,
    # The store may be restarting. A timeout would count as the person's answer; a late one is asked for anew.
    "approve": _rule(retries=2, after=timedelta(seconds=10), timeout=None),
    # A version that is active already is not made twice.
    "accept": _QUICK,
    "action": _QUICK,
    "roll_back": _QUICK,
    "check": _QUICK,
    "check_measure": _MEASURING,
    # As for `report`, on less data.
    "check_compare": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=10)),
    "tune": _QUICK,
    "ask": _QUICK,
}


def dag_options(queue: str) -> dict[str, Any]:
    """Return the arguments that all DAGs of a cluster share; its tasks run in this queue.

    None waits to be unpaused: it does nothing unless it is triggered, or its study has a schedule.
    """
    return {
        "catchup": False,
        "is_paused_upon_creation": False,
        "default_args": {"owner": OWNER, "queue": queue},
        "on_failure_callback": FailureNotifier(),
    }
