"""A report as text, as a page that escapes everything, and as JSON that is read back."""

from __future__ import annotations

import pytest

from kafka_pareto.doctor.guide import load_guide
from kafka_pareto.doctor.page import doctor_page
from kafka_pareto.doctor.readings import Places, read
from kafka_pareto.doctor.records import DoctorReport
from kafka_pareto.doctor.text import report_text
from kafka_pareto.doctor.words import REASONS
from kafka_pareto.storage.record import decode_record
from tests.unit.doctor.checking import finding_of, report_of

pytestmark = pytest.mark.fast

NASTY = "<script>alert('x')</script>"


def test_text_groups_the_checks_and_ends_with_the_counts() -> None:
    report = report_of(
        finding_of({"cores_times": 1.0}, 4, 4, 8, note="it depends"),
        finding_of({"equals": 8}, 8, 8, 8, title="num.network.threads"),
        finding_of(
            {"equals": 8}, 4, title="num.replica.fetchers", protects="memory", safer=["below"], note="it depends"
        ),
        finding_of({"looked_at": True}, title="zookeeper.connect", not_applicable={"why": "it is gone"}),
        finding_of({"equals": "lz4"}, reason="no_topic", group="topic", title="compression.type", item=23),
    )
    assert report_text(report).splitlines() == [
        "Checked: kafka1:9092 (Kafka 4.3; 1 of 3 brokers on this machine)",
        "Guide: a book",
        "",
        "Brokers",
        "  not met               num.io.threads                             4 (broker 1, 2), 8 (broker 3); guide: 8",
        "                          (one per core)",
        "                        → set it (it depends)",
        "  met                   num.network.threads                        8",
        "  safer than the guide  num.replica.fetchers                       4; guide: 8",
        "                        protects memory (it depends)",
        "  not applicable        zookeeper.connect                          it is gone",
        "",
        "Topic",
        "  not checked           compression.type                           no topic given; pass TOPIC=…",
        "",
        "The guide's checklist (28 items): 1 not checked",
        "5 checks: 1 met, 1 safer than the guide, 1 not met, 1 not applicable, 1 not checked",
    ]


def test_topics_that_campaigns_have_left_are_named_with_the_command_that_removes_them() -> None:
    left = ("kafka-pareto.steady.c1.1024", f"kafka-pareto.{NASTY}.c2.1")
    report = report_of(finding_of({"equals": 8}, 8)).model_copy(update={"topics_left": left})
    text = " ".join(report_text(report).split())
    assert all(each in text for each in left)
    assert text.endswith("with make remove-topics KAFKA=kafka1:9092 (and KAFKA_CONFIG, if the cluster needs one)")
    page = doctor_page(report)
    assert "make remove-topics KAFKA=kafka1:9092" in page
    assert "<script" not in page
    assert "remove-topics" not in report_text(report_of()) + doctor_page(report_of())


def test_no_line_of_text_is_wider_than_a_terminal_of_110_columns() -> None:
    report = report_of(finding_of({"equals": 1}, "word " * 60, title="t" * 60, fix="do " * 60, note="since " * 40))
    assert max(map(len, report_text(report).splitlines())) <= 110


def test_the_page_escapes_text_from_the_cluster_and_the_guide() -> None:
    finding = finding_of({"equals": NASTY}, f"{NASTY}!", title=NASTY, fix=NASTY, note=NASTY, section=f'"{NASTY}')
    page = doctor_page(report_of(finding).model_copy(update={"kafka": NASTY, "source": NASTY}))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 7
    assert 'title="&#34;&lt;script' in page


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = doctor_page(report_of(finding_of({"equals": 8}, 8)))
    assert not any(word in page for word in ("http:", "https:", "src=", "@import", "url("))


def test_json_is_read_back_as_the_same_report() -> None:
    report = report_of(finding_of({"equals": 8}, 8, None, "x", True), finding_of({"between": [1, 2]}, 1.5))
    assert decode_record(report.model_dump_json().encode(), "report", DoctorReport) == report


def test_every_reason_that_a_check_of_the_guide_may_give_is_reported_in_words() -> None:
    from kafka_pareto.doctor.host import Host

    places = Places(Host(), None, [], {})
    reasons = {read(check, places).reason for check in load_guide().checks} - {""}
    assert reasons
    assert reasons <= REASONS.keys()
