"""Build the explorer's view of a comparison: its parts, and a part's tables, charts and CSV."""

from __future__ import annotations

from pydantic import BaseModel

from kafka_pareto.campaign.campaign import check_campaign_id
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.comparison.chart_data import AxisKind, Heat, Point, axis_kind, heat_of, points_of, tick_texts
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.rows import Row, notes
from kafka_pareto.comparison.tables import legend, part_sentences, part_tables, title
from kafka_pareto.comparison.words import compared_quantities, directed_text, number_text
from kafka_pareto.errors import BadInputError
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import in_order
from kafka_pareto.study.quantity import Quantity


class ComparisonOverview(BaseModel):
    """A comparison.

    Attributes:
        parts: Those with a result.
        report: The report's name among the campaign's artifacts; None until it is written.
    """

    parts: list[str]
    report: str | None


class Table(BaseModel):
    """A table with a header row; `rows` may be empty."""

    title: str
    rows: list[Row]


class Chart(BaseModel):
    """One tested quantity as a chart.

    Attributes:
        reference: The reference's mean, formatted; empty without one.
        points: For a table.
        heat: For a grid or a series.
    """

    title: str
    reference: str
    points: list[Point]
    heat: Heat | None


class PartView(BaseModel):
    """One part of a comparison.

    Attributes:
        ticks: The axis labels of a table's levels, in order; empty for a label that would overlap.
    """

    title: str
    factors: list[str]
    axis: AxisKind
    ticks: list[str]
    charts: list[Chart]
    tables: list[Table]
    sentences: list[str]
    notes: list[str]
    legend: list[str]


def comparison_overview(store: Store, keys: CampaignKeys) -> ComparisonOverview:
    """Return the parts of a comparison and the name of its report.

    Raises:
        BadInputError: If there is no such campaign.
    """
    check_campaign_id(keys.campaign)
    if store.tag(keys.frozen_study()) is None:
        raise BadInputError(f"the store has no campaign {keys.prefix}")
    names = [key.removeprefix(keys.comparisons()).removesuffix(".json") for key in store.keys(keys.comparisons())]
    report = keys.report("report.html")
    has_report = store.tag(report) is not None
    return ComparisonOverview(
        parts=in_order(names), report=report.removeprefix(f"{keys.prefix}/") if has_report else None
    )


def read_part(store: Store, keys: CampaignKeys, part: str) -> PartComparison:
    """Read the result of one part.

    Raises:
        BadInputError: If there is no such campaign, or the part has no result.
    """
    if part not in comparison_overview(store, keys).parts:
        raise BadInputError(f"comparison {keys.prefix} has no result for part {part}")
    key = keys.comparison(part)
    return decode_record(store.get(key), key, PartComparison)


def part_view(part: PartComparison) -> PartView:
    """Return the view of one part."""
    return PartView(
        title=title(part),
        factors=part.factors,
        axis=axis_kind(part),
        ticks=tick_texts(part),
        charts=[_chart(part, quantity) for quantity in compared_quantities(part)],
        tables=[Table(title=heading, rows=rows) for heading, rows in part_tables(part)],
        sentences=part_sentences(part),
        notes=notes(part),
        legend=legend([part]),
    )


def _chart(part: PartComparison, quantity: Quantity) -> Chart:
    is_of_two = len(part.factors) > 1
    mean = part.reference_level.estimate(quantity.name).mean
    return Chart(
        title=directed_text(quantity),
        reference=f"{number_text(mean.value)} {quantity.unit}".strip() if mean else "",
        points=[] if is_of_two else points_of(part, quantity),
        heat=heat_of(part, quantity) if is_of_two else None,
    )
