"""The documentation: no dead link, no stale page, no card that nobody measured."""

from __future__ import annotations

import ast
import math
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.study_reference import PAGE, study_reference
from kafka_pareto.campaign.records import Plan
from kafka_pareto.drivers.common.systems import OwnBrokersSystem
from kafka_pareto.measurement.cost import describe_plan, plan_campaign, plan_comparison
from kafka_pareto.measurement.driver_runtime import runtime_of
from kafka_pareto.settings import Settings
from kafka_pareto.study.compare import compare_study
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import load_study
from kafka_pareto.study.tune import Tune
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/results/*.md"),
        *ROOT.glob("benchmarks/**/*.md"),
        ROOT / "plugins/README.md",
    ]
)
ELSEWHERE = re.compile(r"[a-z]+:", re.IGNORECASE)


def dead_links(page: Path) -> list[str]:
    """Returns the page's links and pictures whose file, or heading in it, does not exist; other sites are not asked."""
    return [link for link in links_of(page) if not ELSEWHERE.match(link) and not leads_somewhere(page, link)]


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = unquote(link).partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors_of(target))


def links_of(page: Path) -> list[str]:
    found = [token.attrs.get("href") or token.attrs.get("src") for token in inline_tokens(page)]
    return [str(link) for link in found if link]


@cache
def anchors_of(page: Path) -> set[str]:
    """Returns the anchors that GitHub, and the site, make of a page's headings."""
    tokens, anchors = MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")), set()
    for opening, text in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(part.content for part in text.children or [])
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            repeated = sum(re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", known) is not None for known in anchors)
            anchors.add(f"{anchor}-{repeated}" if repeated else anchor)
    return anchors


def inline_tokens(page: Path) -> list[Token]:
    tokens = MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))
    return [child for token in tokens for child in token.children or []]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    assert dead_links(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Here `it` is\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#here-it-is) [c](other.md#twice-1) [d](other.md#gone) [e](gone.md)\n\n"
        "| ![f](gone.png) | [g](https://example.org/gone) | [h](#nowhere) | `[i](gone.md)` |\n|---|---|---|---|\n"
    )

    assert dead_links(page) == ["other.md#gone", "gone.md", "gone.png", "#nowhere"]


@pytest.mark.slow
def test_every_picture_is_shown_somewhere() -> None:
    shown = {(page.parent / link).resolve() for page in PAGES for link in links_of(page) if not ELSEWHERE.match(link)}

    assert [image.name for image in (ROOT / "docs/images").iterdir() if image not in shown] == []


def test_every_page_is_in_the_readmes_list_of_them_of_which_the_site_makes_its_contents() -> None:
    listed = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Documentation")[2].partition("\n## ")[0]

    assert [page.name for page in ROOT.glob("docs/*.md") if f"](docs/{page.name})" not in listed] == []


def test_every_page_of_a_studys_results_is_in_the_list_of_results() -> None:
    listed = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    pages = [page.name for page in ROOT.glob("docs/results/*.md")]

    assert pages
    assert [page for page in pages if f"](results/{page})" not in listed] == []


def test_the_study_reference_is_of_todays_schema() -> None:
    assert PAGE.read_text(encoding="utf-8") == study_reference(), "it is stale: `make docs` writes it anew"


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_a_card_that_is_shown_is_a_kept_campaigns_as_todays_code_writes_it(page: str) -> None:
    (card,) = re.findall(r"```text\n(=.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)

    written = (ROOT / "tests/golden/expected/kept_cold_burst/cards.txt.txt").read_text(encoding="utf-8")
    assert len(card.splitlines()) >= 20
    assert all(part in written for part in card.split("\n\n"))


@pytest.mark.slow
def test_the_table_of_studies_has_the_totals_of_their_plans() -> None:
    page = (ROOT / "docs/studies.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `\w+` \| [^|]+ \| [\d.]+ GiB \| [^|]+ \|$", page, re.MULTILINE)
    studies = [load_study(file) for file in STUDIES.glob("*.yaml")]
    planned = {study.name: plan_of(study) for study in studies}
    expected = [
        f"| `{study.name}` | {duration_text(planned[study.name])} | {disk_gib(planned[study.name])} GiB "
        f"| {memory_gib(study)} |"
        for study in studies
    ]
    assert sorted(table) == sorted(expected)


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/quickstart.md"], ids=lambda page: page.name)
def test_planned_times_in_the_tables_of_commands_are_those_of_the_plans(page: Path) -> None:
    planned = re.compile(r"^\| `make run STUDY=(\w+)` \|.* estimated time: ([^;|(]+?) ?[;|(]", re.MULTILINE)
    said = planned.findall(page.read_text(encoding="utf-8"))
    expected = {name: duration_text(plan_of(load_study(STUDIES / f"{name}.yaml"))) for name, _ in said}
    assert len(said) == len(expected) >= 3
    assert dict(said) == expected


def plan_of(study: Study) -> Plan:
    driver = runtime_of(study)
    return plan_campaign(study, driver) if isinstance(study, Tune) else plan_comparison(compare_study(study), driver)


def duration_text(plan: Plan) -> str:
    """Returns the plan's duration in the words of its own line."""
    return describe_plan(plan).split(", about ")[1].split(",")[0]


def disk_gib(plan: Plan) -> str:
    """Returns the disk that must be free: a fifth more than the peak use, rounded up."""
    return f"{math.ceil(plan.peak_disk_gib * 1.2 * 10) / 10:.1f}"


def memory_gib(study: Study) -> str:
    """Returns the memory that a study with its own brokers needs, rounded up; `-` for any other."""
    if study.own_brokers is None:
        return "-"
    with runtime_of(study).system(study, Settings()) as system:
        assert isinstance(system, OwnBrokersSystem)
        return f"{math.ceil(system.needed_mib / 1024 * 10) / 10:.1f} GiB"


def test_the_driver_that_the_page_of_development_shows_is_the_one_that_is_run() -> None:
    page = (ROOT / "docs/development.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    folder = ROOT / "tests/drivers/naps"
    files = [folder / name for name in re.findall(r"^# (\w+\.py)$", shown, re.MULTILINE)]

    assert {file.name for file in files} == {file.name for file in folder.glob("*.py")} - {"__init__.py"}
    assert statements(shown) == [each for file in files for each in statements(file.read_text(encoding="utf-8"))]


def statements(code: str) -> list[str]:
    """Return the code's statements without imports, docstrings, comments and layout."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return [ast.unparse(each) for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)]


def test_the_tables_of_the_benchmarks_page_are_of_those_that_the_commands_write() -> None:
    sections = re.split(r"^## ", (ROOT / "benchmarks/README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    tables = (ROOT / "benchmarks/tables.md").read_text(encoding="utf-8")
    excerpts = [section for section in sections if "](tables.md#" in section and "\n| " in section]
    unknown = []
    for excerpt in excerpts:
        rows = [cells_of(line) for line in excerpt.partition("\n|---")[2].partition("\n\n")[0].splitlines()[1:]]
        written = [cells_of(line) for line in tables.splitlines() if line.startswith("| ")]
        unknown += [
            row for row in rows if not set(row) <= {cell for each in written if each[0] == row[0] for cell in each}
        ]
    assert len(excerpts) >= 5
    assert unknown == []


def cells_of(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_each_safeguard_of_a_cluster_names_an_existing_test() -> None:
    page = (ROOT / "docs/existing-clusters.md").read_text(encoding="utf-8")
    _, *tables = page.split("| risk | safeguard | test |")
    rows = [row.strip("|").split("|")[2] for table in tables for row in table.partition("\n\n")[0].splitlines()[2:]]
    named = [re.findall(r"`([\w/]+\.(?:py|java))::(\w+)`", row) for row in rows]
    assert len(rows) >= 12
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == []
    missing = [
        f"{file}::{test}"
        for tests in named
        for file, test in tests
        if not re.search(rf"\b(def|void) {test}\(", (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert missing == []
