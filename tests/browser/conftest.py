"""A real Airflow with the explorer in it, a store with recorded campaigns, and a real Chromium that looks at them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_embedded.airflow_api import administrator as airflow_api
from kafka_pareto_embedded.airflow_api.client import AirflowClient
from kafka_pareto_embedded.airflow_api.connection import AirflowConnection, Login
from kafka_pareto_embedded.stack.stack import Stack
from tests.browser.chromium import PATIENCE_MS, launched, log_in
from tests.dags.airflow_server import running_airflow
from tests.tasks.report_campaign import CAMPAIGN

PICTURES = Path(__file__).parents[2] / ".state" / "pictures"
SCREEN = {"width": 1280, "height": 800}


@dataclass(frozen=True)
class Explorer:
    """The running explorer and the store that it reads."""

    stack: Stack
    store: FolderStore

    @property
    def url(self) -> str:
        return f"{self.stack.airflow_url}/kafka-pareto/"

    def campaign(self) -> Campaign:
        return Campaign.open(self.store, "paper", CAMPAIGN)


ADMINISTRATOR, ONLOOKER = "admin", "onlooker"


@pytest.fixture(scope="package")
def explorer(tmp_path_factory: pytest.TempPathFactory, reported_store: Path) -> Iterator[Explorer]:
    folder = tmp_path_factory.mktemp("explored")
    shutil.copytree(reported_store, folder / "store")
    environment = {
        "KAFKA_PARETO_STORE_FOLDER": str(folder / "store"),
        "KAFKA_PARETO_BOOTSTRAP_SERVERS": "",  # no brokers run here: nobody waits for them
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADMINISTRATOR}:admin,{ONLOOKER}:viewer",
    }
    with running_airflow(folder / "state", environment) as stack:
        yield Explorer(stack, FolderStore(folder / "store"))


@pytest.fixture(autouse=True)
def _store_as_it_was(explorer: Explorer, tmp_path: Path) -> Iterator[None]:
    """A test may change the store: the next one finds it as it was."""
    folder = explorer.store._folder
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    yield
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright, launched(playwright) as browser:
        yield browser


@dataclass(frozen=True)
class Visitor:
    """Somebody who is logged in, and what went wrong in their browser meanwhile."""

    page: Page
    context: BrowserContext
    complaints: list[str]

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@pytest.fixture(scope="package")
def administrator(explorer: Explorer, chromium: Browser) -> Iterator[Visitor]:
    """Logged in by Airflow's own form; one page for all tests, so that what a browser keeps is loaded once."""
    context = chromium.new_context(viewport=SCREEN, color_scheme="light", accept_downloads=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    log_in(page, explorer.stack)
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(f"{message.text} {message.location}") if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Visitor(page, context, complaints)
    context.close()


@pytest.fixture
def visitor(administrator: Visitor) -> Visitor:
    """The administrator, on an empty page."""
    administrator.page.goto("about:blank")
    administrator.complaints.clear()
    return administrator


@pytest.fixture
def onlooker(explorer: Explorer, chromium: Browser) -> Iterator[Visitor]:
    """Somebody who may read the DAGs, and trigger none; their session is begun by Airflow's API."""
    passwords = json.loads((explorer.stack.state / "airflow" / "passwords.json").read_text())
    token = AirflowConnection(explorer.stack.airflow_url, Login(ONLOOKER, passwords[ONLOOKER])).token()
    context = chromium.new_context(viewport=SCREEN)
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies([{"name": "_token", "value": token, "url": explorer.stack.airflow_url}])
    yield Visitor(context.new_page(), context, [])
    context.close()


@pytest.fixture
def airflow(explorer: Explorer) -> Iterator[AirflowClient]:
    """Airflow's API, as the administrator."""
    with airflow_api.administrator(explorer.stack) as client:
        yield client
