"""A Chromium, the machine's or the one that set-up has fetched, and the way into Airflow with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright, expect

from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.bootstrap.preflight import find_browser
from kafka_pareto_embedded.stack.stack import TOOLS, Stack

FETCHED = TOOLS / "browser"
PATIENCE_MS = 60_000
# Playwright gives an expectation five seconds; a machine that does other work is slower to draw.
expect.set_options(timeout=PATIENCE_MS)


def browser_command(fetched: Path = FETCHED) -> tuple[str, dict[str, str]]:
    """Finds the browser to drive, and the environment that it needs: the PATH's, else the fetched one.

    Raises:
        BadInputError: If there is neither.
    """
    if installed := find_browser():
        return installed, dict(os.environ)
    binary = fetched / "chromium"
    if not binary.exists():
        raise BadInputError("there is no browser; `make test` fetches one, or put chromium on the PATH")
    # It brings the libraries and the fonts that a bare machine lacks.
    brought = {"LD_LIBRARY_PATH": str(fetched / "al2023" / "lib"), "FONTCONFIG_FILE": str(fetched / "fonts.conf")}
    return str(binary), {**os.environ, **brought}


@contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """A browser that is gone afterwards.

    Raises:
        BadInputError: If there is none.
    """
    binary, environment = browser_command()
    # Its sandbox refuses to start as root, as which CI runs.
    browser = playwright.chromium.launch(executable_path=binary, env={**environment}, chromium_sandbox=False)
    try:
        yield browser
    finally:
        browser.close()


def log_in(page: Page, stack: Stack) -> None:
    """By Airflow's own form, as its administrator."""
    page.goto(stack.airflow_url)
    page.get_by_label("Username").fill(stack.credentials.airflow_admin_user)
    page.locator("input[type=password]").fill(stack.credentials.airflow_admin_password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/auth/" not in url)
