"""Configures Sphinx for `make docs`. The checkout is the source, so links work on the site and next to the code."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "kafka-pareto"
author = "kafka-pareto"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/results/*.md",
    "benchmarks/README.md",
    "benchmarks/tables.md",
    "benchmarks/data/README.md",
]
exclude_patterns = [".state", ".git"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "kafka-pareto"
html_copy_source = False
html_show_sphinx = False
_GROUP = re.compile(r"^- ([^:]+): ((?:.|\n(?=  ))+)", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w/-]+)\.md\)")
_LISTS = {"docs/results": "results/", "benchmarks/README": "tables"}
"""Pages that list others, and how the names of these begin."""
_FIRST_PAGE = (
    '<meta charset="utf-8"><meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">README</a>\n'
)


def _add_contents(_: Sphinx, name: str, source: list[str]) -> None:
    """Make the lists of pages in the README and two others the site's contents; a page in none is an error."""
    if name == root_doc:
        for caption, links in _GROUP.findall(source[0].partition("## Documentation")[2]):
            source[0] += _contents(_PAGE.findall(links), caption)
    elif name in _LISTS:
        listed = dict.fromkeys(_PAGE.findall(source[0]))
        source[0] += _contents([page for page in listed if page.startswith(_LISTS[name])])


def _contents(pages: list[str], caption: str = "") -> str:
    title = f":caption: {caption}\n" if caption else ""
    return "\n".join(["\n```{toctree}", f":hidden:\n{title}", *pages, "```\n"])


def _add_first_page(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        (Path(app.outdir) / "index.html").write_text(_FIRST_PAGE, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the two steps to Sphinx."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _add_first_page)
