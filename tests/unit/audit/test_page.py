"""The page of an audit: the same numbers as in a terminal, and nothing unescaped."""

from __future__ import annotations

import html

import pytest

from kafka_pareto.audit.estimates import Prices
from kafka_pareto.audit.page import audit_page
from kafka_pareto.audit.reading import Unread
from kafka_pareto.audit.records import AuditedTopic, AuditReport
from tests.unit.audit.test_audit import sample, topic

pytestmark = pytest.mark.fast


def report_of(*topics: AuditedTopic, unread: tuple[Unread, ...] = (), kafka: str = "a:9092") -> AuditReport:
    return AuditReport(at="2026-11-29T12:00:00+00:00", kafka=kafka, seconds=1.0, topics=topics, unread=unread)


def test_a_topic_has_its_rows_its_points_with_a_bar_and_its_codecs() -> None:
    page = audit_page(report_of(topic(sample()), topic(None, "empty")), {"Doctor": "doctor"})

    assert '<a href="doctor">Doctor</a>' in page
    assert "<dt>producers</dt><dd>1 idempotent, 1 of them transactional</dd>" in page
    assert '<td class="left">linger.ms=60</td>\n<td>8.0</td>\n<td>125.0</td>\n<td>0.50 (0.50-0.50)</td>' in page
    assert '<rect class="bar" y="3" height="8" width="45.0"/>' in page
    assert "<td>375 MB</td>" in page
    assert "saved a month" not in page
    assert "<td>0.25 (4.0)</td>" in page
    assert "<dt>records</dt><dd>none</dd>" in page


def test_prices_add_a_column() -> None:
    priced = topic(sample()).model_copy(update={"month_cost_of_daily_byte": 1e-7})
    report = report_of(priced, topic(sample(), "kept forever"))
    page = audit_page(report.model_copy(update={"prices": Prices(stored_gib_month=0.1)}))

    assert page.count("<th>saved a month</th>") == 2
    assert page.count("<td>12.50</td>") == page.count("<td>unknown</td>") == 1


def test_values_are_escaped() -> None:
    nasty = "<script>alert(1)</script>"
    page = audit_page(
        report_of(topic(sample(fault=nasty), nasty), unread=(Unread(topic=nasty, error=nasty),), kafka=nasty)
    )

    shown = html.escape(nasty)
    assert nasty not in page
    assert f"Audited: {shown}, 1 topic" in page
    assert page.count(f'<section class="group" aria-label="{shown}">') == 2
    assert f"no prediction: {shown}" in page
    assert f"Not read: {shown}" in page
