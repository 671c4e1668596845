"""Opens page after page as a user would, and notes every message of error that one of them shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Response, WebError
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

PICTURES = Path(__file__).parents[2] / ".state" / "pictures" / "pages"
# Of the explorer, and of Airflow's interface.
_TROUBLE = (
    ".trouble, [role=alert]:not(.warning), [data-scope=alert][data-status=error], [data-scope=toast][data-type=error]"
)
_WORDS = re.compile(
    r"Not Found|Internal Server Error|went wrong|Traceback|could not be inspected|does not answer|No such file"
)
_NO_TROUBLE = ("You're viewing a shared view",)  # MLflow says this of the run list with R²
_LINKS = "links => links.filter(link => link.checkVisibility()).map(link => [link.href, link.hasAttribute('download')])"
_STILL_MS = 10_000
_SHOWN = {".html", ".txt", ".png", ".svg"}


@dataclass
class Tour:
    """One visitor's way through pages, each opened once.

    Attributes:
        faults: The errors found, each with its page.
        opened: The addresses so far.
    """

    context: BrowserContext
    faults: list[str] = field(default_factory=list)
    opened: set[str] = field(default_factory=set)
    _at: str = ""
    _pictures: int = 0

    def __enter__(self) -> Self:
        self.context.on("console", self._note_console)
        self.context.on("weberror", self._note_script)
        self.context.on("response", self._note_response)
        return self

    def __exit__(self, *_: object) -> None:
        self.context.remove_listener("console", self._note_console)
        self.context.remove_listener("weberror", self._note_script)
        self.context.remove_listener("response", self._note_response)

    def open(self, page: Page, address: str, until: str | None = None) -> list[str]:
        """Opens an address, waits until it is drawn, takes a picture, and returns where its links lead.

        Links that download are followed here.

        Args:
            page: The tab.
            address: The address.
            until: What to wait for; without it, until the page asks for nothing more.
        """
        self._at = address
        self.opened.add(address)
        page.goto("about:blank")  # another fragment alone would load nothing
        page.goto(address)
        try:
            if until:
                page.wait_for_selector(until)
            page.wait_for_load_state("networkidle", timeout=_STILL_MS)
        except PlaywrightTimeoutError:
            if until and not page.locator(until).first.is_visible():
                self._note("never drawn", until)
        return self.look(page)

    def walk(self, page: Page, starts: Iterable[str], within: str, until: Callable[[str], str | None]) -> set[str]:
        """Opens these addresses and everything they link to, and follows links that begin with `within`.

        Returns:
            The addresses of other hosts, which were linked but not opened.
        """
        waiting, elsewhere = list(starts), set[str]()
        while waiting:
            address = waiting.pop()
            if address in self.opened:
                continue
            if (file := _file_to_download(address)) is not None:
                self.opened.add(address)
                if not file.stat().st_size:
                    self._note("empty", address)
                continue
            links = self.open(page, address, until(address))
            if not page.url.startswith(within):  # where an address has led to
                continue
            for link in links:
                document, _, place = link.partition("#")
                if place and "=" not in place and document == page.url.partition("#")[0]:
                    self._note_unless_it_has(page, place)
                elif urlsplit(link).hostname == urlsplit(within).hostname:
                    waiting.append(link)
                else:
                    elsewhere.add(link)
        return elsewhere

    def look(self, page: Page) -> list[str]:
        """Notes what the page and its frames show of errors, takes a picture, and returns where its links lead."""
        addresses: dict[str, None] = {}
        for frame in page.frames:
            shown = [each.inner_text() for each in frame.locator(_TROUBLE).all() if each.is_visible()]
            shown += _WORDS.findall(frame.locator("body").inner_text())
            for text in shown:
                if not text.startswith(_NO_TROUBLE):
                    self._note("shown", text)
            for address, downloads in frame.eval_on_selector_all("a[href]", _LINKS):
                if downloads and not address.startswith("data:"):
                    self._download(address)
                elif not downloads:
                    addresses[address] = None
        PICTURES.mkdir(parents=True, exist_ok=True)
        self._pictures += 1
        page.screenshot(path=PICTURES / f"{self._pictures:03d}_{_file_name(self._at)}.png", full_page=True)
        return list(addresses)

    def _note_console(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self._note("console", said.text)

    def _note_script(self, error: WebError) -> None:
        self._note("script", str(error.error))

    def _note_response(self, answer: Response) -> None:
        if answer.status >= 400:
            self._note(f"status {answer.status}", answer.url)

    def _note_unless_it_has(self, page: Page, fragment: str) -> None:
        if not page.locator(f'[id="{fragment}"]').count():
            self._note("a link to a place that the page does not have", fragment)

    def _download(self, address: str) -> None:
        if address in self.opened:
            return
        self.opened.add(address)
        answer = self.context.request.get(address)
        if not (answer.ok and answer.body()):
            self._note(f"download, status {answer.status}", address)

    def _note(self, kind: str, what: str) -> None:
        self.faults.append(f"{self._at}: {kind}: {what}")


def _file_name(address: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", address.partition("//")[2].partition("/")[2])[-80:] or "root"


def _file_to_download(address: str) -> Path | None:
    """Returns the file on this machine that the address names, if a browser would not show it."""
    file = Path(unquote(urlsplit(address).path))
    return file if address.startswith("file:") and file.is_file() and file.suffix not in _SHOWN else None
