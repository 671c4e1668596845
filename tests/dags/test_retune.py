"""Checks of the active settings on a real Airflow: by hand, by an event, and after; only the steps are stand-ins."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_pareto.errors import BadInputError
from tests.dags.receivers import body_of
from tests.dags.serving import Served, soon

pytestmark = [pytest.mark.studies, pytest.mark.timeout(300)]

DAG = "retune_producer"


def events_of(airflow: Served, run_id: str) -> list[dict[str, Any]]:
    return list(airflow.ask("GET", f"assets/events?source_dag_id={DAG}&source_run_id={run_id}")["asset_events"])


def states(airflow: Served, run_id: str) -> dict[str, str]:
    tasks = airflow.ask("GET", f"dags/{DAG}/dagRuns/{run_id}/taskInstances")["task_instances"]
    return {f"{task['task_id']} {task['rendered_map_index'] or ''}".strip(): task["state"] for task in tasks}


def test_drift_is_announced_is_an_event_and_starts_a_tuning_under_the_checks_id(airflow: Served) -> None:
    airflow.trigger(DAG, "drifts", {"study": "paper"})
    assert airflow.ended(DAG, "drifts") == "success"
    assert states(airflow, "drifts") == dict.fromkeys(
        ["check", "check_measure 1024 B", "check_measure 65636 B", "check_compare", "tune"], "success"
    )
    check = airflow.noted("checks")[-1][1]["campaign"]
    [event] = events_of(airflow, "drifts")
    assert event["extra"]["check"] == check
    [told] = [mail for mail in airflow.mails if mail["Subject"] == "paper: checked"]
    assert "1,024 B" in body_of(told)

    tuning = f"retune__{DAG}__drifts"
    assert airflow.ended("tune_producer", tuning) == "success"
    conf = airflow.ask("GET", f"dags/tune_producer/dagRuns/{tuning}")["conf"]
    assert conf == {"study": "paper", "campaign": check, "record_sizes": [1024], "approval": False}


def test_without_drift_nothing_is_tuned_and_there_is_no_event(airflow: Served) -> None:
    airflow.trigger(DAG, "holds", {"study": "quick"})
    assert airflow.ended(DAG, "holds") == "success"
    assert states(airflow, "holds")["tune"] == "skipped"
    assert events_of(airflow, "holds") == []


@pytest.mark.long
def test_an_event_starts_a_check_of_the_study_that_it_names(airflow: Served) -> None:
    [asset] = airflow.ask("GET", "assets?name_pattern=kafka_producer_check_wanted")["assets"]
    before = len(airflow.noted("checks"))
    airflow.ask("POST", "assets/events", {"asset_id": asset["id"], "extra": {"study": "cold_burst"}})

    def compared() -> bool:
        return any(step == "check_compare" for step, _ in airflow.noted("checks")[before:])

    soon("the check was made", compared)
    assert {options["study"] for _, options in airflow.noted("checks")[before:]} == {"cold_burst"}


def test_an_event_for_a_study_with_its_own_cluster_is_served_only_by_its_own_dag(airflow: Served) -> None:
    airflow.client.create_pool("kafka_cluster_berlin")
    [asset] = airflow.ask("GET", "assets?name_pattern=kafka_producer_check_wanted")["assets"]
    before = len(airflow.noted("checks"))
    known = {run.dag_run_id for run in airflow.client.latest_runs(DAG)}
    airflow.ask("POST", "assets/events", {"asset_id": asset["id"], "extra": {"study": "elsewhere"}})

    def ended(dag_id: str) -> list[str]:
        runs = airflow.client.latest_runs(dag_id)
        return [run.dag_run_id for run in runs if run.has_ended and run.dag_run_id not in known]

    soon("both DAGs have looked at the event", lambda: bool(ended(DAG) and ended(f"{DAG}_elsewhere")))
    [left_to_others] = ended(DAG)
    skipped = dict.fromkeys(["check_measure", "check_compare", "tune"], "skipped")
    assert states(airflow, left_to_others) == {"check": "success"} | skipped
    said = "elsewhere: not checked by this DAG: studies with a named cluster are checked by retune_producer_<study>"
    assert any(said in line for line in airflow.log(DAG, left_to_others, "check"))
    noted = airflow.noted("checks")[before:]
    assert [step for step, _ in noted].count("check") == 1
    assert {options["study"] for _, options in noted} == {"elsewhere"}


@pytest.mark.parametrize(
    ("dag_id", "conf", "said"),
    [
        ("tune_producer", {"record_sizes": [0]}, r"^RECORD_SIZES=0: must be at least 1$"),
        (
            DAG,
            {"study": "elsewhere"},
            r"^STUDY=elsewhere: must be one of broker_lost, cold_burst, librdkafka, log_pipeline_tuned, paper, quick, "
            "steady$",
        ),
    ],
)
def test_a_refused_parameter_is_reported_in_the_words_of_the_commands(
    airflow: Served, dag_id: str, conf: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInputError, match=said):
        airflow.trigger(dag_id, "refused", conf)


def test_a_study_with_a_schedule_is_checked_by_it_from_its_next_time_on(airflow: Served) -> None:
    dag = airflow.ask("GET", f"dags/{DAG}_steady")
    assert dag["is_paused"] is False
    assert dag["next_dagrun_run_after"].endswith("T03:00:00Z")
    assert airflow.ask("GET", f"dags/{DAG}_steady/dagRuns")["total_entries"] == 0
