"""Render a comparison as one self-contained HTML page: data-URI figures, inline style, no script."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from kafka_pareto.analysis.html_templates import html_templates
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.remarks import Remarks, ceiling_rows, ceilings_sentence, share_rows, shown_text
from kafka_pareto.comparison.rows import PUBLISHED, limit_rows, notes, published_rows
from kafka_pareto.comparison.tables import legend, part_csv, part_sentences, part_tables, title
from kafka_pareto.comparison.words import setting_text


@dataclass(frozen=True)
class PageContext:
    """The content of a campaign's page.

    Attributes:
        description: The study author's text.
        figures: By part: file name to caption and PNG, as returned by `figures.part_figures`.
        measured: Measurement settings as label and text: blocks, seconds, cluster.
        facts: As returned by `Fingerprint.facts`.
        published_on: Machine and source of the published numbers; empty without any.
    """

    study: str
    campaign: str
    description: str
    sentences: Sequence[str]
    parts: Sequence[PartComparison]
    figures: Mapping[str, Mapping[str, tuple[str, bytes]]] = field(default_factory=dict)
    measured: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str | int | list[str]] = field(default_factory=dict)
    published_on: str = ""
    remarks: Remarks = field(default_factory=Remarks)


def comparison_page(context: PageContext) -> str:
    """Return the page as HTML; all values are escaped."""
    environment = html_templates("kafka_pareto.comparison", "kafka_pareto.report")  # for the report's style
    return environment.get_template("comparison.html.j2").render(
        context=context,
        parts=[_part(context, part) for part in context.parts],
        legend=legend(context.parts),
        published=PUBLISHED,
        shown_text=shown_text,
        ceilings=ceiling_rows(context.remarks.ceilings),
        ceilings_sentence=ceilings_sentence,
        shares=share_rows(context.remarks.parts),
    )


def _part(context: PageContext, part: PartComparison) -> dict[str, Any]:
    return {
        "name": part.part,
        "title": title(part),
        "figures": [
            {"uri": f"data:image/png;base64,{base64.b64encode(content).decode()}", "caption": caption}
            for caption, content in context.figures.get(part.part, {}).values()
        ],
        "sentences": part_sentences(part),
        "tables": [{"title": heading, "rows": rows} for heading, rows in part_tables(part)],
        "notes": notes(part),
        "csv": f"data:text/csv;charset=utf-8,{quote(part_csv(part))}",
        "limits": limit_rows(part),
        "published": published_rows(part),
        "levels": [{"name": setting_text(level.values), "ids": level.repetition_ids} for level in part.levels],
    }
