"""The page of the comparisons, in a real browser on the real Airflow."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.comparison.tables import part_csv
from tests.browser.conftest import Explorer, Visitor
from tests.unit.comparison.made_parts import codec_part, grid_part

pytestmark = pytest.mark.studies

KEYS = CampaignKeys("impact", "c1")


def test_a_comparison_has_its_table_its_plot_and_its_csv_and_is_not_in_the_pareto_view(
    explorer: Explorer, visitor: Visitor, tmp_path: Path
) -> None:
    explorer.store.put(KEYS.frozen_study(), b"kind: compare\nname: impact\n")
    for part in (codec_part(), grid_part()):
        explorer.store.put(KEYS.comparison(part.part), part.model_dump_json().encode())
    page = visitor.page

    page.goto(f"{explorer.url}comparisons")
    page.wait_for_selector("body[data-drawn='1']")
    expect(page.get_by_role("heading", name="codec_text: compression.type")).to_be_visible()
    expect(page.get_by_role("rowheader", name="lz4 (reference)").first).to_be_visible()
    expect(page.locator("#charts .js-plotly-plot")).to_have_count(2)
    visitor.picture("comparison_levels")
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV").click()
    started.value.save_as(tmp_path / "levels.csv")
    assert (tmp_path / "levels.csv").read_text() == part_csv(codec_part())

    page.get_by_label("Part").select_option("grid")
    page.wait_for_selector("body[data-drawn='2']")
    expect(page.get_by_text("batch.size and linger.ms interact")).to_be_visible()
    visitor.picture("comparison_grid")
    assert "part=grid" in page.url
    address = page.url
    page.locator(".skip").press("Enter")
    expect(page.locator("#part-title")).to_be_focused()
    assert page.url == address

    page.get_by_role("link", name="Pareto explorer").click()
    expect(page.locator("#campaign")).to_contain_text("paper")
    expect(page.locator("#campaign")).not_to_contain_text("impact")
    expect(page.get_by_role("link", name="Comparisons").first).to_be_visible()
    assert visitor.complaints == []
