"""Render a report as one self-contained HTML page, in the style of a campaign's report."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.analysis.html_templates import html_templates
from kafka_pareto.doctor import words
from kafka_pareto.doctor.records import DoctorReport


def doctor_page(report: DoctorReport, addresses: Mapping[str, str] | None = None) -> str:
    """Return the page with the given links on top; values are escaped, and no external resource is loaded."""
    template = html_templates("kafka_pareto.doctor", "kafka_pareto.analysis").get_template("page.html.j2")
    return template.render(
        report=report,
        addresses=addresses or {},
        by_group=words.by_group(report),
        verdict_words=words.VERDICT_WORDS,
        subject=words.subject_text(report),
        counts=words.count_text(report),
        items=words.items_text(report),
        left=words.left_text(report),
        client_files=words.client_file_lines(report),
        expected=lambda finding: words.expected_text(finding.check.rule, report.cores),
        found=words.found_text,
        advice=words.advice_text,
    )
