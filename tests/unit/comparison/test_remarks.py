from __future__ import annotations

import pytest

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.comparison.page import PageContext, comparison_page
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.remarks import CauseText, Remarks, SymptomText, ceiling_rows, share_rows
from kafka_pareto.comparison.rows import limit_sentences
from kafka_pareto.comparison.tables import WIDTH, part_csv, part_text, remarks_text
from tests.unit.comparison.made_parts import codec_part, linger_part

pytestmark = pytest.mark.fast

CEILINGS = Ceilings(
    record_size_bytes=1024,
    batch_size_bytes=1048576,
    loopback_mib_s=2000.0,
    disk_write_mib_s=None,
    codec_mib_s={"gzip": 50.0, "lz4": 500.0},
    generator_records_s=1_000_000.0,
)
SYMPTOM = SymptomText(
    "The latency is high: p99 214 ms.",
    [CauseText("Linger: lower linger.ms.", "linger_ms"), CauseText("A <broker> paused: raise -Xmx.")],
)


def limited_part() -> PartComparison:
    """Return a part whose levels are limited by the CPU, except gzip by the disk."""
    found = {"lz4": ("cpu", {"host_cpu_busy_fraction": 0.93}), "gzip": ("disk", {"disk_busy_fraction": 0.9})}
    part = codec_part()
    levels = []
    for level in part.levels:
        codec = str(level.values["compression.type"])
        code, numbers = found.get(codec, ("cpu", {"host_cpu_busy_fraction": 0.85}))
        shares = {"generator": 0.1, "codec": 0.7} if codec == "gzip" else {"generator": 0.1}
        update = {"bottleneck": code, "bottleneck_numbers": numbers, "ceiling_shares": shares}
        levels.append(level.model_copy(update=update))
    return part.model_copy(update={"levels": levels})


def test_a_part_says_what_limited_its_reference_and_the_levels_that_something_else_limited():
    said = limit_sentences(limited_part())
    assert [sentence.partition(" was the bottleneck")[0] for sentence in said] == [
        "lz4 (reference): CPU",
        "gzip: The brokers' disk",
    ]
    assert "93 % of the time" in said[0]
    assert "lz4 (reference): CPU was the bottleneck" in part_text(limited_part())
    assert limit_sentences(linger_part()) == []


def test_ceilings_name_each_discipline_and_list_those_not_measured():
    rows = dict(row for row in ceiling_rows(CEILINGS) if len(row) == 2)
    assert rows["load generator, one thread"] == "1,000,000 records/s"
    assert rows["sequential write, flushed"] == "not measured"
    assert rows["gzip, one core"] == "50.0 MiB/s"
    assert ceiling_rows(None) == []


def test_shares_are_of_every_level_or_of_those_near_a_ceiling():
    header, *rows = share_rows([limited_part()])
    assert header == ("part", "level", "of the load generator", "of the codec")
    assert len(rows) == 5
    assert share_rows([limited_part()], 0.5)[1:] == [(limited_part().part, "gzip", "10 %", "70 %")]
    assert share_rows([codec_part()]) == []
    assert "codec=0.7" in part_csv(limited_part())


def test_symptoms_are_in_the_text_with_the_part_that_measured_the_setting():
    text = remarks_text(Remarks([limited_part()], [SYMPTOM], CEILINGS))
    assert "Linger: lower linger.ms. Measured here: part linger_ms." in text
    assert "raise -Xmx. Not measured here." in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert remarks_text(Remarks()) == ""


def test_the_page_links_a_cause_to_the_part_that_measured_the_setting():
    remarks = Remarks([limited_part()], [SYMPTOM], CEILINGS)
    page = comparison_page(PageContext("impact", "c1", "", [], [limited_part()], remarks=remarks))
    assert '<a href="#part-linger_ms">Measured here: part linger_ms.</a>' in page
    assert "A &lt;broker&gt; paused" in page
    assert "1,000,000 records/s" in page
    assert "Share of these that each level reached" in page


def test_a_page_without_symptoms_and_ceilings_has_no_place_for_them():
    page = comparison_page(PageContext("impact", "c1", "", [], [codec_part()]))
    assert "Symptoms" not in page
    assert "without Kafka" not in page
