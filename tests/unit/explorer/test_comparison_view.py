"""Explorer routes for comparisons, over a folder store, without Airflow in front."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import list_campaigns, list_campaigns_of
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.tables import part_csv
from kafka_pareto.errors import BadInputError
from kafka_pareto.explorer.comparison_view import comparison_overview, part_view, read_part
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto_airflow.explorer.access import reads_of
from kafka_pareto_airflow.explorer.comparison_routes import comparison_router
from kafka_pareto_airflow.explorer.own_threads import OwnThreads
from tests.unit.comparison.made_parts import (
    THROUGHPUT,
    batch_size_part,
    fetch_part,
    grid_part,
    producers_part,
    record_size_part,
)

pytestmark = pytest.mark.fast

KEYS = CampaignKeys("impact", "c1")
PARTS = (batch_size_part(), grid_part(), producers_part(), record_size_part(), fetch_part())


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """Return a comparison with results, one without, and two tuning campaigns."""
    found = FolderStore(tmp_path)
    found.put(KEYS.frozen_study(), b"name: impact\ndescription: of\n  kind\nkind: compare\n")
    for part in PARTS:
        found.put(KEYS.comparison(part.part), part.model_dump_json().encode())
    found.put(CampaignKeys("impact", "c2").frozen_study(), b"kind: compare\nname: impact\n")
    found.put(CampaignKeys("quick", "c1").frozen_study(), b"kind: tune\nname: quick\n")
    found.put(CampaignKeys("old", "c1").frozen_study(), b"name: old\ndescription: |\n  kind: compare\n")
    return found


@pytest.fixture
def client(store: FolderStore) -> TestClient:
    app = FastAPI()
    app.include_router(comparison_router(lambda: store, OwnThreads()))
    app.dependency_overrides[reads_of] = lambda: lambda _: True
    return TestClient(app)


def test_each_kind_of_campaign_is_listed_alone_and_a_study_that_names_none_tunes(store: FolderStore) -> None:
    names = {kind: {(e.study, e.campaign) for e in list_campaigns_of(store, kind)} for kind in ("compare", "tune")}
    assert names == {"compare": {("impact", "c1"), ("impact", "c2")}, "tune": {("quick", "c1"), ("old", "c1")}}
    assert len(list_campaigns(store)) == 4


def test_the_overview_names_the_parts_and_the_report_once_it_is_there(store: FolderStore) -> None:
    assert comparison_overview(store, KEYS).model_dump() == {
        "parts": ["batch_size", "fetch_min_bytes", "grid", "producers", "record_size"],
        "report": None,
    }
    store.put(KEYS.report("report.html"), b"<html>")
    assert comparison_overview(store, KEYS).report == "07_report/report.html"
    assert comparison_overview(store, CampaignKeys("impact", "c2")).parts == []


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.part)
def test_a_stored_part_is_read_back_and_every_tested_quantity_has_a_chart_and_a_table(
    store: FolderStore, part: PartComparison
) -> None:
    read = read_part(store, KEYS, part.part)
    assert read == part
    view = part_view(read)
    assert len(view.charts) == len(part.compared)
    assert len(view.tables) >= len(part.compared)
    assert all(bool(chart.points) is (part.kind == "table") for chart in view.charts)
    assert all((chart.heat is not None) is (part.kind == "grid") for chart in view.charts)
    assert all(len({len(row) for row in table.rows}) <= 1 for table in view.tables)


def test_a_grid_shows_each_combinations_gain_and_marks_its_reference() -> None:
    throughput, latency = part_view(grid_part()).charts
    assert throughput.heat
    assert latency.heat
    assert throughput.heat.references == [(3, 2)]
    assert throughput.heat.texts[3][2] == "1\nreference"
    assert throughput.heat.sides == ["16 KiB", "64 KiB", "256 KiB", "1 MiB"]
    small, slow = throughput.heat.better[0][0], latency.heat.better[0][4]
    assert small is not None
    assert small < 0  # less throughput is worse
    assert slow is not None
    assert slow < 0  # and so is more latency


def test_an_unmeasured_part_has_no_view(store: FolderStore) -> None:
    for keys, part in ((KEYS, "linger"), (CampaignKeys("impact", "c9"), "grid"), (CampaignKeys("impact", "-"), "grid")):
        with pytest.raises(BadInputError):
            read_part(store, keys, part)


def test_the_routes_answer_with_lists_views_and_a_csv_to_download(client: TestClient) -> None:
    listed = client.get("/api/comparisons").json()
    assert {entry["campaign"] for entry in listed} == {"c1", "c2"}
    assert client.get("/api/comparisons/impact/c1").json()["parts"][0] == "batch_size"
    view = client.get("/api/comparisons/impact/c1/batch_size").json()
    assert (view["axis"], view["ticks"]) == ("log2", ["16 KiB", "64 KiB", "256 KiB", "1 MiB"])
    ratio = batch_size_part().levels[0].estimates[THROUGHPUT.name].ratio
    assert ratio
    assert view["charts"][0]["points"][0]["ratio"] == ratio.model_dump()
    csv = client.get("/api/comparisons/impact/c1/batch_size/levels.csv")
    assert csv.text == part_csv(batch_size_part())
    assert csv.headers["content-disposition"] == 'attachment; filename="comparison-impact-c1-batch_size.csv"'


@pytest.mark.parametrize(
    "path", ["impact/c1/UPPER", "Impact/c1", "impact/c%201", "impact/c1/%3Cscript%3E", "impact/c1/..%2Fstudy.yaml"]
)
def test_an_invalid_name_is_refused_before_the_store_is_read(client: TestClient, path: str) -> None:
    assert client.get(f"/api/comparisons/{path}").status_code in {404, 422}
