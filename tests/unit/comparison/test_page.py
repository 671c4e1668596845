from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest

from kafka_pareto.comparison.page import PageContext, comparison_page
from kafka_pareto.comparison.sentences import closing_sentences
from kafka_pareto.comparison.tables import part_csv
from tests.unit.comparison.made_parts import batch_size_part, codec_part, grid_part, producers_part, record_size_part

pytestmark = pytest.mark.fast

PARTS = [batch_size_part(), codec_part(), grid_part(), producers_part(), record_size_part()]
CONTEXT = PageContext(
    study="impact",
    campaign="c1",
    description="What each setting does.",
    sentences=closing_sentences(PARTS[:3]),
    parts=PARTS,
    figures={"batch_size": {"batch_size_levels.png": ("Each level relative to the reference.", b"\x89PNG")}},
    measured={"blocks": "5", "seconds": "10"},
    facts={"kafka_version": "4.3.1", "brokers": ["b1", "b2"]},
    published_on="3 brokers with 32 cores each",
)


class Read(HTMLParser):
    """A page's texts, addresses and table cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_leads_with_the_three_sentences_and_has_every_part() -> None:
    read = Read(comparison_page(CONTEXT))
    places = [read.text.index(sentence) for sentence in CONTEXT.sentences]
    assert places == sorted(places)
    assert places[-1] < read.text.index("How it was measured") < read.text.index("batch.size, compared with")
    assert all(f"#part-{part.part}" in read.addresses for part in PARTS)
    assert "Throughput levels off at 4.55" in read.text
    assert "P99 latency jumps up between" in read.text
    assert "batch.size 16384 with linger.ms 0" in read.text


def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing() -> None:
    read = Read(comparison_page(CONTEXT))
    assert {tag for tag in read.tags if tag in ("script", "link", "iframe", "object")} == set()
    assert [each for each in read.addresses if not each.startswith(("#", "data:"))] == []
    assert not re.search(r"url\(|@import", comparison_page(CONTEXT))


def test_published_numbers_are_marked_apart_from_this_machines() -> None:
    page = comparison_page(CONTEXT)
    assert "Published numbers are from 3 brokers with 32 cores each, as published; they are no claim about this" in page
    assert '<td class="elsewhere">180,000 (0.15)</td>' in page
    assert "Published numbers are from" not in comparison_page(replace(CONTEXT, published_on=""))


def test_every_repetition_is_named_and_the_csv_is_in_the_page() -> None:
    read = Read(comparison_page(CONTEXT))
    assert all(name in read.text for part in PARTS for level in part.levels for name in level.repetition_ids)
    inline = [unquote(each.partition(",")[2]) for each in read.addresses if each.startswith("data:text/csv")]
    assert inline == [part_csv(part) for part in PARTS]


def test_a_limit_says_by_which_numbers_it_was_found() -> None:
    found = "CPU was the bottleneck: the machine's cores were busy 97 % of the time (threshold 80 %)."
    assert found in Read(comparison_page(CONTEXT)).text


def test_text_from_a_study_or_a_cluster_is_escaped() -> None:
    bad = "<img src=x onerror=alert(1)>"
    part = codec_part()
    level = part.levels[1].model_copy(update={"values": {"compression.type": bad}, "notes": [bad]})
    context = replace(
        CONTEXT,
        description=bad,
        sentences=[bad],
        parts=[part.model_copy(update={"levels": [level, *part.levels[1:]]})],
        measured={bad: bad},
        facts={bad: [bad]},
        published_on=bad,
    )
    page = comparison_page(context)
    assert "<img src=x" not in page
    assert Read(page).text.count(bad) >= 8
