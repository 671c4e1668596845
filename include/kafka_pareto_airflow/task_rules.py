"""Define how often and how long each task of the DAGs is tried, each rule with its reason, and the DAGs' owner."""

from __future__ import annotations

from datetime import timedelta
from typing import TypedDict

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

RULES: dict[str, Rule] = {
    "design": _QUICK,
    # The store may be restarting.
    "compare": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=30)),
    "propose": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=30)),
    "measure": _MEASURING,
    # A gate that is asked again must give the same answer.
    "validate": _rule(retries=0, after=timedelta(0), timeout=timedelta(minutes=30)),
    # The store may be restarting; without MLflow it goes on.
    "train": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(hours=1)),
    "optimize": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(hours=1)),
    "confirm": _MEASURING,
    # The MLflow server or the store may be restarting.
    "report": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=30)),
    # The store may be restarting. A timeout would count as the person's answer; a late one is asked for anew.
    "approve": _rule(retries=2, after=timedelta(seconds=10), timeout=None),
    # A version that is in force already is not made twice.
    "accept": _QUICK,
    "action": _QUICK,
    "roll_back": _QUICK,
    "check": _QUICK,
    "check_measure": _MEASURING,
    # The MLflow server or the store may be restarting.
    "check_compare": _rule(retries=2, after=timedelta(seconds=20), timeout=timedelta(minutes=10)),
    "tune": _QUICK,
    "ask": _QUICK,
}
