"""Take the documentation's pictures of the running embedded stack and a finished campaign on it: `make pictures`.

`report` is in the README, `explorer` in docs/explorer.md, the others in docs/quickstart.md. Two are not taken here:
`front` (docs/method.md) is a figure of a report, and `make benchmark` draws `search` (docs/results/search.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import HttpCredentials, Page, sync_playwright
from pydantic import BaseModel, ConfigDict

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.store import open_store
from kafka_pareto.study.identifiers import TUNE_DAG_ID
from kafka_pareto.tracking.links import r2_address
from kafka_pareto.tracking.provision import ADMIN
from kafka_pareto_cli.options import options_of
from kafka_pareto_cli.replies import clear_errors
from kafka_pareto_embedded.lifecycle import lifecycle
from kafka_pareto_embedded.runs.airflow_runs import stack_runs
from kafka_pareto_embedded.stack.stack import Stack
from tests.browser.chromium import launched, log_in

IMAGES = Path(__file__).parent / "images"
MOST_BYTES = 500_000
SETTLED_MS = 3_000  # these pages move things into place, and give no sign when they are done


class Pictured(BaseModel):
    """The options of `make pictures`: the campaign to show; by default the newest that has a report."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: str | None = None
    campaign: str | None = None


@dataclass(frozen=True)
class View:
    """A page, how much of it is shown, and what to click before."""

    address: str
    height: int
    prepare: Callable[[Page], None]
    width: int = 1280


def take_pictures(stack: Stack, wanted: Pictured) -> list[Path]:
    """Take every picture and return the files.

    Raises:
        BadInputError: If there is no such campaign, or none was reported yet.
        KafkaParetoError: If the stack does not answer.
    """
    keys = _campaign(stack, wanted)
    report = stack.reports / keys.study / keys.campaign / "report.html"
    with stack_runs(stack, TUNE_DAG_ID) as runs:
        run = runs.address(runs.newest_of(keys.study, keys.campaign))
    views = {
        "trigger_form": View(f"{stack.airflow_url}/dags/{TUNE_DAG_ID}", 800, _trigger_form),
        "run": View(run, 640, _graph, width=1700),
        "explorer": View(
            f"{stack.airflow_url}/kafka-pareto/#study={keys.study}&campaign={keys.campaign}", 1000, _explorer
        ),
        "mlflow": View(_experiment_address(stack, keys), 640, _experiment),
        "report": View(report.as_uri(), 900, lambda _: None),
    }
    taken: dict[Path, bytes] = {}
    with sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_context(color_scheme="light", http_credentials=_mlflow_login(stack)).new_page()
        log_in(page, stack)
        for name, view in views.items():
            page.set_viewport_size({"width": view.width, "height": view.height})
            page.goto(view.address)
            view.prepare(page)
            taken[IMAGES / f"{name}.png"] = page.screenshot()
    for path, picture in taken.items():
        if len(picture) > MOST_BYTES:
            raise BadInputError(
                f"{path}: would have {len(picture):,} bytes, over {MOST_BYTES:,}; show less of the page"
            )
    for path, picture in taken.items():
        path.write_bytes(picture)
    return list(taken)


def _campaign(stack: Stack, wanted: Pictured) -> CampaignKeys:
    for entry in list_campaigns(open_store(stack.settings())):
        is_wanted = wanted.study in (None, entry.study) and wanted.campaign in (None, entry.campaign)
        if is_wanted and entry.state == "reported":
            return CampaignKeys(entry.study, entry.campaign)
    raise BadInputError("there is no such campaign that was reported; `make run` makes one")


def _mlflow_login(stack: Stack) -> HttpCredentials:
    return {"username": ADMIN, "password": stack.credentials.mlflow_admin_password, "origin": stack.mlflow_url}


def _experiment_address(stack: Stack, keys: CampaignKeys) -> str:
    return r2_address(stack.settings(), keys) or stack.mlflow_url


def _graph(page: Page) -> None:
    page.get_by_role("button", name="Show Graph").click()
    page.get_by_role("button", name="Collapse Details Panel").click()
    page.wait_for_selector(".react-flow__node")
    page.wait_for_timeout(SETTLED_MS)
    page.get_by_role("button", name="Fit View").click()
    page.mouse.move(0, 0)  # no tooltip in a picture
    page.wait_for_timeout(SETTLED_MS)


def _trigger_form(page: Page) -> None:
    page.get_by_role("button", name="Trigger Dag").click()
    page.get_by_text("Run Parameters").wait_for()
    page.wait_for_timeout(SETTLED_MS)


def _explorer(page: Page) -> None:
    page.wait_for_selector("body[data-drawn]")


def _experiment(page: Page) -> None:
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("gridcell").get_by_role("button").first.click()  # the campaign's runs, below it
    page.wait_for_timeout(SETTLED_MS)


if __name__ == "__main__":
    with clear_errors():
        for path in take_pictures(lifecycle.running(), options_of(Pictured, "pictures", {})):
            print(f"{path.relative_to(Path.cwd())}: {path.stat().st_size / 1024:.0f} KiB")
