"""Two clusters tuned at the same time, by Celery's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
from tenacity import retry, retry_if_exception, stop_after_delay, wait_fixed

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Fingerprint
from kafka_pareto.storage.store import open_store
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.compose.phases import phase
from tests.compose.stack import ComposeStack

CASE = "1024"
_KNOWN_WITHIN_S, _MEASURED_WITHIN_S, _STOPPED_WITHIN_S = 120.0, 300.0, 60.0


@dataclass(frozen=True)
class Tuned:
    """What one of the two campaigns left when it had measured.

    Attributes:
        measure: The measure task, as Airflow's API tells of it.
    """

    campaign: Campaign
    fingerprint: Fingerprint
    measure: dict[str, Any]


def tune_both(stack: ComposeStack) -> tuple[Tuned, Tuned]:
    """Triggers a campaign on the stack's own cluster and one on the second; stops both when they have measured."""
    with phase("celery: workers and second cluster up"):
        stack.turn_to_celery()
    with phase("celery: two campaigns measured"), stack.login("operator") as airflow:
        runs = {
            "quick": _trigger(airflow, "tune_producer", {"study": "quick", "record_sizes": [int(CASE)]}),
            "second": _trigger(airflow, "tune_producer_second", {"study": "second"}),
        }
        tuned = (_measured(stack, airflow, "quick", runs["quick"]), _measured(stack, airflow, "second", runs["second"]))
    with phase("celery: both campaigns stopped"), stack.login("operator") as airflow:
        for run in runs.values():
            _stop(airflow, run.removesuffix("/taskInstances"))
        wait_until("the steps of the stopped runs are gone", lambda: stack.steps() == [], _STOPPED_WITHIN_S)
    return tuned


def _is_the_servers_fault(error: BaseException) -> bool:
    return isinstance(error, httpx.HTTPStatusError) and error.response.is_server_error


@retry(retry=retry_if_exception(_is_the_servers_fault), stop=stop_after_delay(30), wait=wait_fixed(1), reraise=True)
def _stop(airflow: httpx.Client, run: str) -> None:
    """Asks again where the API clashed with the scheduler in the database (as in apache/airflow#66734)."""
    airflow.patch(run, json={"state": "failed"}).raise_for_status()


def _trigger(airflow: httpx.Client, dag_id: str, conf: dict[str, Any]) -> str:
    path = f"/api/v2/dags/{dag_id}"
    wait_until(f"Airflow knows {dag_id}", lambda: airflow.get(path).is_success, _KNOWN_WITHIN_S)
    run = airflow.post(f"{path}/dagRuns", json={"logical_date": None, "conf": conf}).raise_for_status().json()
    return f"{path}/dagRuns/{run['dag_run_id']}/taskInstances"


def _measured(stack: ComposeStack, airflow: httpx.Client, study: str, tasks: str) -> Tuned:
    found: dict[str, Any] = {}

    def has_measured() -> bool:
        found.update(airflow.get(f"{tasks}/measure/0").json())
        return found.get("state") == "success"

    wait_until(f"{study} has measured", has_measured, _MEASURED_WITHIN_S)
    manifest = airflow.get(f"{tasks}/design/xcomEntries/manifest", params={"deserialize": True}).json()["value"]
    keys = CampaignKeys(study, manifest["campaign"])
    campaign = Campaign.open(open_store(stack.settings()), keys.study, keys.campaign)
    return Tuned(campaign, campaign.read_record(keys.fingerprint(CASE), Fingerprint), found)
