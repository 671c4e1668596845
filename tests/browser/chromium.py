"""Debian's Chromium, of which this project brings none of its own, and the way into Airflow with it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, Playwright

from kafka_pareto.errors import BadInputError
from kafka_pareto_embedded.stack.stack import Stack


@contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """A browser that is gone afterwards.

    Raises:
        BadInputError: If there is none on the PATH.
    """
    binary = shutil.which("chromium")
    if binary is None:
        raise BadInputError("there is no chromium on the PATH; install it (apt-get install chromium)")
    # Its sandbox refuses to start as root, as which CI runs.
    browser = playwright.chromium.launch(executable_path=binary, chromium_sandbox=False)
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
