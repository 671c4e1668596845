"""Load machines as tasks of a real Airflow; only the steps are stand-ins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.dags.serving import Served, soon

pytestmark = [pytest.mark.studies, pytest.mark.timeout(600)]

DAG, MACHINES = "retune_producer_together", "load_machines_hamburg"


@pytest.fixture(autouse=True)
def cluster(airflow: Served) -> None:
    airflow.client.create_pool("kafka_cluster_hamburg")


@contextmanager
def told(airflow: Served, name: str) -> Iterator[None]:
    """A file by which the stand-in steps of the study behave otherwise."""
    file = airflow.store / "together" / name
    file.parent.mkdir(exist_ok=True)
    file.touch()
    yield
    file.unlink()


class Sessions:
    """The runs of the load machines' DAG since this was made, oldest first."""

    def __init__(self, airflow: Served) -> None:
        self._airflow = airflow
        self._known = set(self._all())

    def _all(self) -> list[str]:
        return [run.dag_run_id for run in self._airflow.client.latest_runs(MACHINES)]

    def new(self) -> list[str]:
        return sorted(set(self._all()) - self._known)

    def tasks(self, session: str) -> list[tuple[str, str, str]]:
        listed = self._airflow.ask("GET", f"dags/{MACHINES}/dagRuns/{session}/taskInstances")["task_instances"]
        return sorted((task["task_id"], task["rendered_map_index"] or "", task["state"] or "") for task in listed)


@pytest.fixture
def sessions(airflow: Served) -> Sessions:
    return Sessions(airflow)


def test_they_run_while_a_check_measures_and_again_if_its_measuring_is_cleared(
    airflow: Served, sessions: Sessions
) -> None:
    airflow.trigger(DAG, "measured", {"study": "together"})
    assert airflow.ended(DAG, "measured") == "success"
    [first] = sessions.new()
    assert airflow.ended(MACHINES, first) == "success"
    assert sessions.tasks(first) == [
        ("list_load_machines", "", "success"),
        ("run_load_machine", "machine 1", "success"),
        ("run_load_machine", "machine 2", "success"),
        ("stop_load_machines", "", "success"),
        ("wait_for_the_end", "", "success"),
    ]
    conf = airflow.ask("GET", f"dags/{MACHINES}/dagRuns/{first}")["conf"]
    [check] = {given["campaign"] for _, given in airflow.noted("checks") if given["study"] == "together"}
    run = {"dag_id": DAG, "run_id": "measured"}
    assert conf == {"study": "together", "campaign": check, "check": True, **run}

    cleared = {"dag_run_id": "measured", "task_ids": ["check_measure"], "include_downstream": True}
    airflow.ask("POST", f"dags/{DAG}/clearTaskInstances", {**cleared, "dry_run": False, "only_failed": False})
    soon("other machines run", lambda: len(sessions.new()) == 2)
    assert airflow.ended(DAG, "measured") == "success"
    assert airflow.ended(MACHINES, sessions.new()[1]) == "success"


def test_a_stopped_check_stops_its_machines(airflow: Served, sessions: Sessions) -> None:
    def are_running() -> bool:
        return any(("run_load_machine", "machine 2", "running") in sessions.tasks(each) for each in sessions.new())

    with told(airflow, "hanging"):
        airflow.trigger(DAG, "stopped", {"study": "together"})
        soon("its machines run", are_running)
        airflow.client.stop(DAG, "stopped")
    assert airflow.ended(DAG, "stopped") == "failed"
    [session] = sessions.new()
    assert airflow.ended(MACHINES, session) == "success"


def test_a_check_that_measures_nothing_starts_none_and_compares(airflow: Served, sessions: Sessions) -> None:
    with told(airflow, "nothing_to_measure"):
        airflow.trigger(DAG, "unmeasured", {"study": "together"})
        assert airflow.ended(DAG, "unmeasured") == "success"
    tasks = airflow.ask("GET", f"dags/{DAG}/dagRuns/unmeasured/taskInstances")["task_instances"]
    states = {task["task_id"]: task["state"] for task in tasks}
    assert (states["check_measure"], states["check_compare"]) == ("skipped", "success")
    assert sessions.new() == []


def test_a_campaign_that_needs_none_ends_their_run_at_once(airflow: Served, sessions: Sessions) -> None:
    run = {"study": "quick", "campaign": "c1", "check": False, "dag_id": DAG, "run_id": "none"}
    airflow.trigger(MACHINES, "unneeded", run)
    assert airflow.ended(MACHINES, "unneeded") == "success"
    assert sessions.tasks("unneeded") == [
        ("list_load_machines", "", "success"),
        ("run_load_machine", "", "skipped"),
        ("stop_load_machines", "", "skipped"),
        ("wait_for_the_end", "", "skipped"),
    ]
