"""A real Airflow with the explorer in it, a store with recorded campaigns, and a real Chromium that looks at them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from kafka_pareto.campaign import Campaign
from kafka_pareto.steps import report
from kafka_pareto.store import FolderStore
from kafka_pareto_embedded.stack import Stack
from tests.dags.airflow_server import running_airflow
from tests.tasks.report_campaign import CAMPAIGN, small_study, write_confirmed_campaign

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


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    folder = tmp_path_factory.mktemp("explored")
    campaign = write_confirmed_campaign(folder / "store", small_study())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", raising=False)
        report.run(campaign)
    with running_airflow(folder / "state", {"KAFKA_PARETO_STORE_FOLDER": str(folder / "store")}) as stack:
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, of which this test suite brings none of its own."""
    binary = shutil.which("chromium")
    if binary is None:
        pytest.skip("there is no chromium on the PATH; install it (apt-get install chromium)")
    with sync_playwright() as playwright:
        # Its sandbox refuses to start as root, as which CI runs.
        browser = playwright.chromium.launch(executable_path=binary, chromium_sandbox=False)
        yield browser
        browser.close()


@dataclass(frozen=True)
class Visitor:
    """Somebody who is logged in, and what went wrong in their browser meanwhile."""

    page: Page
    context: BrowserContext
    complaints: list[str]

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def log_in(explorer: Explorer, context: BrowserContext) -> Page:
    """By Airflow's own form."""
    secret = explorer.stack.credentials
    page = context.new_page()
    page.goto(explorer.stack.airflow_url)
    page.get_by_label("Username").fill(secret.airflow_admin_user)
    page.locator("input[type=password]").fill(secret.airflow_admin_password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/auth/" not in url)
    return page


@pytest.fixture
def visitor(explorer: Explorer, chromium: Browser) -> Iterator[Visitor]:
    context = chromium.new_context(viewport=SCREEN, color_scheme="light", accept_downloads=True)
    context.set_default_timeout(15_000)
    page = log_in(explorer, context)
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(f"{message.text} {message.location}") if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Visitor(page, context, complaints)
    context.close()
