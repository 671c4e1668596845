"""From a choice in the browser to the active settings, and back: by a DAG of the real Airflow's."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from kafka_pareto.campaign.keys import InForceKeys
from kafka_pareto.rollout.versions import active_settings, versions
from kafka_pareto.study.identifiers import ACTIVE_SETTINGS_DAG_ID, TUNE_DAG_ID
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.lifecycle.waiting import wait_until
from tests.browser.conftest import Explorer, Visitor
from tests.browser.test_explorer import CASE, best_id, open_view
from tests.tasks.accepting import durable_id, recommend
from tests.tasks.report_campaign import CAMPAIGN
from tests.unit.embedded.test_rollout import activate

pytestmark = pytest.mark.studies

RUN_MS = 120_000
REASON = "it <b>fits</b> {{ 1 + 1 }} our 'day'"


def test_a_pick_by_need_can_be_activated_downloaded_and_rolled_back(
    explorer: Explorer, visitor: Visitor, tmp_path: Path
) -> None:
    page = visitor.page
    open_view(explorer, visitor)
    recommended = best_id(visitor)
    page.get_by_label("latency CV at most", exact=True).press("Home")
    expect(page.locator("#best .name")).not_to_contain_text(recommended)
    picked = best_id(visitor)
    page.locator("#activate-best").get_by_role("button", name=f"Activate {picked}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("row", name="batch.size")).to_be_visible()
    dialog.get_by_label("Reason").fill(REASON)
    visitor.picture("put_in_force")
    dialog.get_by_role("button", name="Confirm").click()
    expect(dialog.get_by_role("status")).to_contain_text("the system has changed since", timeout=RUN_MS)
    assert active_settings(explorer.store, "paper", CASE) is None
    dialog.get_by_role("button", name="Activate anyway").click()
    expect(dialog.get_by_role("status")).to_contain_text("Done", timeout=RUN_MS)
    dialog.get_by_role("button", name="Close").click()
    panel = page.locator("#in-force")
    expect(panel).to_contain_text(f"Version 1: {picked}")
    expect(panel).to_contain_text(f"picked, by {explorer.stack.credentials.airflow_admin_user}: {REASON}")
    visitor.picture("in_force")
    kept = active_settings(explorer.store, "paper", CASE)
    assert kept
    assert (kept.configuration_id, kept.came_by, kept.reason) == (picked, "picked", REASON)
    with page.expect_download() as started:
        panel.get_by_role("link", name="producer.properties").click()
    started.value.save_as(tmp_path / "producer.properties")
    artifact = explorer.store.get(InForceKeys("paper", CASE).file("producer.properties"))
    assert (tmp_path / "producer.properties").read_bytes() == artifact

    panel.get_by_role("button", name="Roll back").click()
    dialog.get_by_role("button", name="Confirm").click()
    expect(dialog.get_by_role("status")).to_contain_text("Done", timeout=RUN_MS)
    dialog.get_by_role("button", name="Close").click()
    expect(panel).to_contain_text("(the baseline)")
    expect(panel.get_by_role("button", name="Roll back")).to_be_disabled()
    assert [each.came_by for each in versions(explorer.store, "paper", CASE)] == ["picked", "rolled_back"]


@pytest.mark.long
def test_a_move_that_somebody_else_forestalled_says_so_though_airflow_once_did_not_answer(
    explorer: Explorer, visitor: Visitor
) -> None:
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    open_view(explorer, visitor)
    page.locator("#activate-best").get_by_role("button").click()
    expect(dialog).to_contain_text("Changes from the baseline")
    activate(explorer.store, "paper", CASE)
    dropped: list[str] = []

    def drop_once(route: Route) -> None:
        if dropped:
            route.continue_()
        else:
            dropped.append(route.request.url)
            route.abort()

    page.route("**/dags/settings_in_force/dagRuns/*", drop_once)
    dialog.get_by_role("button", name="Confirm").click()
    status = dialog.get_by_role("status")
    expect(status).to_contain_text("Airflow is not responding. Retrying", timeout=RUN_MS)
    expect(status).to_contain_text("decided before the first version, but version 1 is active", timeout=RUN_MS)
    expect(status).to_contain_text("Currently active: Version 1")
    page.unroute_all()
    assert len(versions(explorer.store, "paper", CASE)) == 1


def test_a_user_who_may_not_trigger_dags_gets_a_message_and_nothing_moves(
    explorer: Explorer, onlooker: Visitor
) -> None:
    open_view(explorer, onlooker)
    onlooker.page.locator("#activate-best").get_by_role("button").click()
    onlooker.page.get_by_role("button", name="Confirm").click()
    expect(onlooker.page.get_by_role("dialog").get_by_role("status")).to_contain_text("You have read access only")
    assert active_settings(explorer.store, "paper", CASE) is None


def test_an_unconfirmed_configuration_has_a_reason_instead_of_a_button(explorer: Explorer, visitor: Visitor) -> None:
    open_view(explorer, visitor)
    unconfirmed = visitor.page.locator("#left option", has_text="(round 0)").first.get_attribute("value")
    visitor.page.get_by_label("left").select_option(unconfirmed)
    place = visitor.page.locator("#activate-left")
    expect(place.get_by_role("button", name=f"Activate {unconfirmed}")).to_be_disabled()
    expect(place).to_contain_text("was not confirmed")


def test_a_campaign_whose_run_has_failed_is_not_said_to_be_running(
    explorer: Explorer, visitor: Visitor, airflow: AirflowClient
) -> None:
    for key in explorer.store.keys(f"paper/{CAMPAIGN}/07_report/"):
        explorer.store.delete(key)
    progress = visitor.page.locator("#progress")
    open_view(explorer, visitor)
    expect(progress).to_contain_text("Not finished")
    expect(progress).to_contain_text("last update")

    # Paused: the run waits, and measures nothing.
    airflow.set_paused(TUNE_DAG_ID, True)
    run = airflow.trigger(TUNE_DAG_ID, {"study": "paper", "campaign": CAMPAIGN})
    open_view(explorer, visitor)
    expect(progress).to_contain_text("Queued in Airflow")
    airflow.stop(TUNE_DAG_ID, run.dag_run_id)
    open_view(explorer, visitor)
    expect(progress).to_contain_text("Stopped: the Airflow run failed")
    visitor.picture("stopped")


@pytest.mark.long
def test_a_recommendation_that_waits_for_approval_says_so_and_leads_to_the_question(
    explorer: Explorer, visitor: Visitor, airflow: AirflowClient
) -> None:
    campaign = explorer.campaign()
    recommend(campaign, durable_id(campaign))
    airflow.trigger(ACTIVE_SETTINGS_DAG_ID, {"action": "ask", "study": "paper", "campaign": CAMPAIGN}, "asked")
    asking = f"dags/{ACTIVE_SETTINGS_DAG_ID}/dagRuns/asked/taskInstances/approve"
    wait_until("it asks", lambda: airflow.ask("GET", asking)["state"] == "awaiting_input", RUN_MS / 1000)

    waits = visitor.page.locator("#approval")
    open_view(explorer, visitor)
    expect(waits).to_contain_text("recommendation is waiting for approval")
    visitor.picture("approval")
    with visitor.context.expect_page() as opened:
        waits.get_by_role("link").click()
    expect(opened.value.get_by_role("button", name="Reject")).to_be_visible()
    opened.value.close()
    airflow.stop(ACTIVE_SETTINGS_DAG_ID, "asked")
    expect(waits).to_be_hidden()
