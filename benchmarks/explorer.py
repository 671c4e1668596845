"""Measure the load time of the explorer's first screen: `python -m benchmarks.explorer`.

Debian's Chromium opens a campaign of about 300 trials in a real Airflow over loopback: first with an empty cache, then
with what the browser has kept. Two times are taken: until the best configuration is named, and until both charts are
drawn. Two other pages are measured in turn, so that other work on the machine favours none. One is the same page with
Plotly before the data (one script after the other, as in a plain page). The other is the campaign's report, a static
file of the same server whose figures are drawn already.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from playwright.sync_api import Browser, Page, Route, StorageState, sync_playwright

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.tables import TRIAL_COLUMNS
from kafka_pareto.steps import report
from kafka_pareto_embedded.stack.stack import Stack
from tests.browser.chromium import launched, log_in
from tests.dags.airflow_server import running_airflow
from tests.tasks.report_campaign import small_study, write_confirmed_campaign

RECORD_SIZES_BYTES = [1024, 8192, 10240, 16383, 65636]
PATIENCE_MS = 120_000
Taken: TypeAlias = dict[tuple[str, str, bool], list[float]]
"""Seconds by page, until what, and whether the browser had the page before."""

# Playwright itself polls every half second.
WATCH = """
    const seen = window.seen = {};
    new MutationObserver(() => {
        if (document.querySelector('#best .name')) seen.named ??= performance.now();
        if (document.body?.dataset.drawn) seen.drawn ??= performance.now();
    }).observe(document, { subtree: true, childList: true, attributes: true });
"""
PAGES = ("explorer", "Plotly before the data", "report.html")


def main(rounds: Annotated[int, typer.Option(min=2, help="how often each page is opened")] = 15) -> None:
    """Measure and print medians, quartiles, and ratios of the medians."""
    os.environ.pop("KAFKA_PARETO_MLFLOW_TRACKING_URI", None)
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-explorer-") as name:
        folder = Path(name)
        campaign = write_confirmed_campaign(folder / "store", small_study(record_sizes_bytes=RECORD_SIZES_BYTES))
        report.run(campaign)
        trials = len(campaign.read_table(campaign.keys.trials(), TRIAL_COLUMNS))
        with (
            running_airflow(folder / "state", {"KAFKA_PARETO_STORE_FOLDER": str(folder / "store")}) as stack,
            sync_playwright() as playwright,
            launched(playwright) as browser,
        ):
            taken_s = measure(browser, stack, campaign, rounds)
    sizes, load = len(RECORD_SIZES_BYTES), os.getloadavg()[0]
    print(f"{trials} trials, {sizes} record sizes; {rounds} rounds; load average {load:.1f}")
    print("| page | until | empty cache [s] | over explorer | kept [s] | over explorer |")
    print("|---|---|---|---|---|---|")
    for page, until in {(page, until): None for page, until, _ in taken_s}:
        cells = []
        for kept in (False, True):
            low, median, high = statistics.quantiles(taken_s[page, until, kept], n=4)
            own = statistics.median(taken_s[PAGES[0], until, kept])
            cells += [f"{median:.2f} ({low:.2f} to {high:.2f})", f"{median / own:.2f}"]
        print(f"| {page} | {until} | {' | '.join(cells)} |")


def measure(browser: Browser, stack: Stack, campaign: Campaign, rounds: int) -> Taken:
    """Open each page in each round."""
    session = _session(browser, stack)
    _open(browser, session, stack, campaign, PAGES[0])  # the server imports the app at its first request
    taken_s: Taken = defaultdict(list)
    for _ in range(rounds):
        for page in PAGES:
            for kept, seconds in zip((False, True), _open(browser, session, stack, campaign, page), strict=True):
                for until, value in seconds.items():
                    taken_s[page, until, kept].append(value)
    return taken_s


def _session(browser: Browser, stack: Stack) -> StorageState:
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    log_in(context.new_page(), stack)
    session = context.storage_state()
    context.close()
    return session


def _open(
    browser: Browser, session: StorageState, stack: Stack, campaign: Campaign, what: str
) -> list[dict[str, float]]:
    """Open the page twice in a browser that has no cache, and return the times."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, storage_state=session)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.add_init_script(WATCH)
    root, keys = f"{stack.airflow_url}/kafka-pareto/", campaign.keys
    address = f"{root}#study={keys.study}&campaign={keys.campaign}&size={RECORD_SIZES_BYTES[-1]}"
    if what == "report.html":
        address = f"{root}api/campaigns/{keys.prefix}/artifacts/07_report/report.html"
    elif what == "Plotly before the data":
        page.route(root, _with_plotly_first)
    seconds = [_shown_after_s(page, address, what) for _ in range(2)]
    context.close()
    return seconds


def _shown_after_s(page: Page, address: str, what: str) -> dict[str, float]:
    page.goto("about:blank")
    page.goto(address)
    if what == "report.html":
        shown_ms = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventStart")
        return dict.fromkeys(("named", "drawn"), shown_ms / 1000)
    page.wait_for_selector("body[data-drawn]")
    return {until: milliseconds / 1000 for until, milliseconds in page.evaluate("seen").items()}


def _with_plotly_first(route: Route) -> None:
    answer = route.fetch()
    text = answer.text()
    preload = r'<link rel="preload" as="script" id="plotly" href="([^"]+)">'
    changed = re.sub(preload, r'<script src="\1"></script>', text)
    if changed == text:
        raise ValueError("the page loads Plotly otherwise by now: change this benchmark with it")
    route.fulfill(response=answer, body=changed)


if __name__ == "__main__":
    typer.run(main)
