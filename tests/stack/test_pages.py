"""Opens every page and link of explorer, Airflow and report in a browser: none shows an error."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, sync_playwright

from kafka_pareto_embedded.airflow_api.client import AirflowClient
from tests.browser.chromium import PATIENCE_MS, launched, log_in
from tests.browser.tour import Tour
from tests.stack.embedded_stack import EmbeddedStack, Finished
from tests.stack.kills import Survived

pytestmark = [pytest.mark.stack, pytest.mark.studies, pytest.mark.timeout(1500)]

DRAWN = "body[data-drawn]"


@pytest.fixture(scope="module")
def context(stack: EmbeddedStack) -> Iterator[BrowserContext]:
    """Somebody who is logged in to Airflow, and logs in to MLflow where it asks."""
    secret = stack.stack.credentials
    mlflow = {"username": "admin", "password": secret.mlflow_admin_password, "origin": stack.stack.mlflow_url}
    with sync_playwright() as playwright, launched(playwright) as browser:
        context = browser.new_context(http_credentials=mlflow, viewport={"width": 1280, "height": 800})
        context.set_default_timeout(PATIENCE_MS)
        log_in(context.new_page(), stack.stack)
        yield context


@pytest.fixture
def tour(context: BrowserContext) -> Iterator[Tour]:
    """A separate tour, with no other page open."""
    for page in context.pages:
        page.goto("about:blank")
    with Tour(context) as tour:
        yield tour


def _until(address: str) -> str | None:
    """Returns what a page of the explorer has once it is drawn; None for any other page."""
    return DRAWN if re.search(r"/kafka-pareto/(comparisons)?(#.*)?$", address) else None


@pytest.mark.usefixtures("survived")  # an explorer without any campaign asks for none
def test_the_tour_notices_a_missing_page_and_a_refused_request_with_its_text(tour: Tour, stack: EmbeddedStack) -> None:
    page, airflow = tour.context.pages[0], stack.stack.airflow_url
    tour.open(page, f"{airflow}/dags/no_such_dag", "text=Not Found")  # Airflow asks again before it says so
    tour.open(page, f"{airflow}/kafka-pareto/#study=none&campaign=none", ".trouble:visible")
    for kind, what in (
        ("no_such_dag: status 404", "/dags/no_such_dag"),
        ("no_such_dag: shown", "Not Found"),
        ("campaign=none: status 404", "/api/campaigns/none/none"),
        ("campaign=none: shown", "there is no campaign none/none in the store"),
    ):
        assert [fault for fault in tour.faults if kind in fault and what in fault], (kind, what, tour.faults)


def test_the_explorer_and_everything_it_leads_to(
    tour: Tour, stack: EmbeddedStack, survived: Survived, compared: Finished
) -> None:
    root, page = f"{stack.stack.airflow_url}/kafka-pareto/", tour.context.pages[0]
    tuned, beside = survived.campaign.keys, compared.campaign.keys
    sizes, parts = survived.campaign.study.cases, compared.campaign.study.cases
    elsewhere = tour.walk(
        page,
        [
            f"{root}doctor",
            f"{root}audit",
            *(f"{root}#study={tuned.study}&campaign={tuned.campaign}&size={size}" for size in sizes),
            *(f"{root}comparisons#study={beside.study}&campaign={beside.campaign}&part={part}" for part in parts),
        ],
        root,
        _until,
    )
    assert tour.faults == []
    assert elsewhere == set()
    for keys in (tuned, beside):
        assert f"{root}api/campaigns/{keys.prefix}/artifacts/07_report/report.html" in tour.opened
    assert f"{root}api/campaigns/{tuned.prefix}/mlflow" in tour.opened
    assert sum("/data_docs/validations/" in address for address in tour.opened) == 4
    assert sum(address.endswith("/producer.properties") for address in tour.opened) >= len(sizes)


def test_the_doctors_page_shows_the_stacks_own_brokers(tour: Tour, stack: EmbeddedStack) -> None:
    page = tour.context.pages[0]
    tour.open(page, f"{stack.stack.airflow_url}/kafka-pareto/doctor")
    assert stack.stack.bootstrap_servers in page.locator("body").inner_text()
    assert "3 of 3 brokers on this machine" in page.locator("body").inner_text()
    assert tour.faults == []


@pytest.mark.long
def test_every_dag_its_docs_its_form_the_explorer_in_it_and_every_task_of_a_run(
    tour: Tour, stack: EmbeddedStack, survived: Survived, airflow: AirflowClient
) -> None:
    root, page = stack.stack.airflow_url, tour.context.pages[0]
    dags = [each["dag_id"] for each in airflow.ask("GET", "dags")["dags"]]
    assert {"tune_producer", "compare_configurations", "settings_in_force", "retune_producer"} <= set(dags)
    tour.open(page, root)
    tour.open(page, f"{root}/dags")
    tour.open(page, f"{root}/assets")
    tour.open(page, f"{root}/plugin/kafka-pareto", "iframe")
    for dag in dags:
        tour.open(page, f"{root}/dags/{dag}")
        for button in (page.get_by_role("button", name="Dag Docs"), page.get_by_test_id("trigger-dag-button")):
            button.first.click()
            page.get_by_role("dialog").wait_for()
            tour.look(page)
            page.keyboard.press("Escape")
            page.get_by_role("dialog").wait_for(state="hidden")
        tour.open(page, f"{root}/dags/{dag}/plugin/kafka-pareto-explorer", "iframe")
    [run] = [
        each
        for each in airflow.latest_runs("tune_producer")
        if each.parameters.get("campaign") == survived.campaign.keys.campaign
    ]
    address = airflow.run_address("tune_producer", run.dag_run_id)
    tour.open(page, address)
    for task in airflow.tasks("tune_producer", run.dag_run_id):
        if not task.task_id.startswith("round_"):
            mapped = f"/mapped/{task.map_index}" if task.map_index >= 0 else ""
            tour.open(page, f"{address}/tasks/{task.task_id}{mapped}")
    assert tour.faults == []


def test_every_address_that_a_run_ends_with(
    tour: Tour, stack: EmbeddedStack, survived: Survived, compared: Finished
) -> None:
    page = tour.context.pages[0]
    said = re.findall(r"(?:http|file)://\S+", survived.said + compared.said)
    assert len(said) >= 14
    tour.walk(page, said, stack.stack.reports.as_uri(), _until)
    assert tour.faults == []
