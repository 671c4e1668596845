"""Render an audit as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.analysis.html_templates import html_templates
from kafka_pareto.audit import text
from kafka_pareto.audit.records import AuditReport

_BAR_PER_RATIO = 90
_WIDEST_BAR = 180


def audit_page(report: AuditReport, addresses: Mapping[str, str] | None = None) -> str:
    """Return the page with the given links on top; values are escaped, and no external resource is loaded."""
    template = html_templates("kafka_pareto.audit", "kafka_pareto.analysis").get_template("page.html.j2")
    return template.render(report=report, addresses=addresses or {}, text=text, bar=_bar, widest=_WIDEST_BAR)


def _bar(ratio: float) -> float:
    """Return the length of a bar for stored bytes relative to now."""
    return round(min(ratio * _BAR_PER_RATIO, _WIDEST_BAR), 1)
