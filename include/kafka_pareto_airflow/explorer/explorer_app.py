"""Serve the explorer's page and data behind Airflow's login: read-only, for users who may read the cluster's DAG.

`access.py` defines access. A last route catches every other path, so that no path bypasses the check.
"""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys, CheckKeys
from kafka_pareto.campaign.listing import CampaignEntry, frozen_head, list_campaigns_of
from kafka_pareto.campaign.progress import campaign_progress
from kafka_pareto.campaign.records import Prior
from kafka_pareto.drift.check_records import PastCheck, read_checks
from kafka_pareto.explorer.active_view import ActiveView, Move, active_text, active_view, move_to
from kafka_pareto.explorer.downloads import settings_text, trials_csv
from kafka_pareto.explorer.intervals import Intervals, intervals
from kafka_pareto.explorer.requirements import Preference, Remaining, Requirements, best_remaining
from kafka_pareto.explorer.snapshot import Snapshot, read_snapshot
from kafka_pareto.explorer.view import CaseView, case_view
from kafka_pareto.kafka.known_properties import Durability, DurabilityName
from kafka_pareto.rollout.versions import active_settings, cluster_of_version, versions
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import Store, open_store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.identifiers import TUNE_DAG_ID, settings_dag_of, tune_dag_of
from kafka_pareto.study.objectives import Limit
from kafka_pareto.study.options import Wanted
from kafka_pareto.tracking.links import run_address
from kafka_pareto_airflow.explorer.access import MayRead, Readers
from kafka_pareto_airflow.explorer.answers import STORED_PAGE_POLICY, download, guard_answers
from kafka_pareto_airflow.explorer.cluster_pages import cluster_router
from kafka_pareto_airflow.explorer.comparison_routes import comparison_router
from kafka_pareto_airflow.explorer.own_threads import DataRouter, OwnThreads
from kafka_pareto_airflow.explorer.parameters import (
    ArtifactName,
    Bounds,
    CampaignId,
    Case,
    ConfigurationId,
    FileName,
    StudyName,
)

PAGE = FilePath(__file__).parents[3] / "plugins" / "kafka_pareto_explorer"
_PLOTLY_VERSION = importlib.metadata.version("plotly")
_STATIC = {
    **{path.name: path for path in PAGE.iterdir() if path.suffix in (".css", ".js")},
    "plotly.min.js": FilePath(
        str(importlib.metadata.distribution("plotly").locate_file("plotly/package_data/plotly.min.js"))
    ),
}

_STORED_TYPES = {".html": "text/html", ".txt": "text/plain", ".csv": "text/csv", ".png": "image/png"}
_STORED_TYPES |= {".css": "text/css", ".json": "application/json", ".yaml": "text/plain", ".properties": "text/plain"}

# Progress takes at most 10 % of a core, however large the campaign, because this machine may be the measured one.
_PROGRESS_CACHE_COST_MULTIPLE = 9.0

_THREADS = OwnThreads()
pages = APIRouter()
data = DataRouter(_THREADS)
rest = APIRouter()


def create_app() -> FastAPI:
    """Return the app; every route requires permission to read a DAG of the cluster."""
    app = FastAPI(
        title="kafka-pareto explorer",
        dependencies=[Depends(Readers(_store, _THREADS))],
        # These routes would bypass the dependency.
        openapi_url=None,
        redirect_slashes=False,
    )
    app.include_router(comparison_router(_store, _THREADS))
    of_our_own = Depends(requires_access_dag("GET", param_dag_id=TUNE_DAG_ID))  # the cluster that it inspects
    app.include_router(cluster_router(STORED_PAGE_POLICY), dependencies=[of_our_own])
    app.include_router(pages)
    app.include_router(data)
    app.include_router(rest)  # last, because it matches every path
    guard_answers(app)
    return app


@pages.get("/")
def page() -> HTMLResponse:
    """Return the explorer's page."""
    return _page("index.html")


@pages.get("/comparisons")
def comparisons_page() -> HTMLResponse:
    """Return the page of the comparisons."""
    return _page("comparisons.html")


@pages.get("/static/{name}")
def static(name: str) -> FileResponse:
    """Return one of the page's scripts or styles."""
    if name not in _STATIC:
        raise HTTPException(404, "file not found")
    # The page's URL of Plotly has its version.
    lasting = "private, max-age=31536000, immutable" if name == "plotly.min.js" else "no-cache"
    return FileResponse(_STATIC[name], headers={"Cache-Control": lasting})


@data.get("/api/campaigns")
def campaigns(reads: MayRead) -> list[CampaignEntry]:
    """List the tuning campaigns."""
    return [each for each in list_campaigns_of(_store(), "tune") if reads(tune_dag_of(each.cluster))]


@data.get("/api/campaigns/{study}/{campaign}")
def campaign_overview(study: StudyName, campaign: CampaignId) -> dict[str, Any]:
    """Return a campaign's cases, progress, and links to its report and Data Docs."""
    found = Campaign.open(_store(), study, campaign)
    prefix = f"{found.keys.prefix}/"
    artifacts = found.store.written_at(prefix)
    report = found.keys.report("report.html")
    return {
        "cases": [{"case": case, "label": case_label(case)} for case in found.study.cases],
        "case_word": found.study.declaration.case_words[0].capitalize(),
        "progress": campaign_progress(found, artifacts),
        "report": report.removeprefix(prefix) if report in artifacts else None,
        "data_docs": [key.removeprefix(prefix) for key in artifacts if key.endswith("/data_docs/index.html")],
        "prior": found.read_record(found.keys.prior(), Prior) if found.keys.prior() in artifacts else None,
        "tune_dag": tune_dag_of(found.study.cluster_name),
        "settings_dag": settings_dag_of(found.study.cluster_name),
        "options": {"reason": Wanted.model_json_schema()["properties"]["reason"]},
        "tracked": bool(load_settings().mlflow_tracking_uri),
    }


@pages.get("/api/campaigns/{study}/{campaign}/progress")
async def progress(study: StudyName, campaign: CampaignId) -> Response:
    """Return a campaign's progress. All open pages poll it, so they share the response."""

    def compute() -> Response:
        report = campaign_progress(Campaign.open(_store(), study, campaign))
        return Response(report.model_dump_json(), media_type="application/json")

    return await _THREADS.shared_answer((study, campaign), compute, _PROGRESS_CACHE_COST_MULTIPLE)


@data.get("/api/campaigns/{study}/{campaign}/mlflow")
def mlflow_run(study: StudyName, campaign: CampaignId) -> RedirectResponse:
    """Redirect to the campaign's run in MLflow."""
    address = run_address(load_settings(), Campaign.open(_store(), study, campaign).keys)
    if address is None:
        raise HTTPException(404, f"MLflow has no run for campaign {study}/{campaign}")
    return RedirectResponse(address)


@data.get("/api/campaigns/{study}/{campaign}/artifacts/{name:path}")
def artifact(study: StudyName, campaign: CampaignId, name: ArtifactName) -> Response:
    """Return an artifact: pages and images for display, other files as downloads."""
    if CampaignKeys(study, campaign).payload().endswith(f"/{name}"):
        raise HTTPException(404, f"{name}: the text or records that a study sends are not shown")
    keys = Campaign.open(_store(), study, campaign).keys
    kind = _STORED_TYPES.get(FilePath(name).suffix)
    content = _store().get(f"{keys.prefix}/{name}")
    if kind is None:
        return Response(content, media_type="application/octet-stream", headers=download(FilePath(name).name))
    return Response(content, media_type=kind, headers={"Content-Security-Policy": STORED_PAGE_POLICY})


@data.get("/api/campaigns/{study}/{campaign}/{case}")
def view(study: StudyName, campaign: CampaignId, case: Case) -> CaseView:
    """Return the view of one case."""
    return case_view(_snapshot(study, campaign, case))


@data.get("/api/campaigns/{study}/{campaign}/{case}/intervals")
def case_intervals(study: StudyName, campaign: CampaignId, case: Case) -> dict[str, dict[str, Intervals]]:
    """Return 95 % intervals of the means of one case's trials."""
    return intervals(_snapshot(study, campaign, case))


@data.get("/api/campaigns/{study}/{campaign}/{case}/choice")
def choice(
    study: StudyName,
    campaign: CampaignId,
    case: Case,
    bounds: Bounds,
    durability: DurabilityName | None = None,
    prefer: Preference = "study",
) -> Remaining:
    """Return the best measured configuration that meets the requirements; limits are named after objectives."""
    snapshot = _snapshot(study, campaign, case)
    if foreign := [name for name in bounds if name not in snapshot.study.objective_names]:
        raise HTTPException(404, f"invalid: {', '.join(foreign)}")
    requirements = Requirements(
        limits=[Limit(objective=objective, bound=bound) for objective, bound in bounds.items()],
        durability=snapshot.study.weakest_durability() if durability is None else Durability[durability],
        prefer=prefer,
    )
    return best_remaining(snapshot, requirements)


@data.get("/api/campaigns/{study}/{campaign}/{case}/trials.csv")
def trials(study: StudyName, campaign: CampaignId, case: Case) -> PlainTextResponse:
    """Return all trials of one case as CSV."""
    text = trials_csv(_snapshot(study, campaign, case))
    return PlainTextResponse(text, media_type="text/csv", headers=download(f"trials-{study}-{campaign}-{case}.csv"))


@data.get("/api/campaigns/{study}/{campaign}/{case}/{configuration}/move")
def move(study: StudyName, campaign: CampaignId, case: Case, configuration: ConfigurationId, reads: MayRead) -> Move:
    """Return the changes that activating this configuration would make."""
    now = active_settings(_store(), study, case)
    if now and not reads(dag_id := tune_dag_of(cluster_of_version(_store(), now))):
        refused = (
            f"The study has moved to another cluster. To see its active settings, you need permission to read {dag_id}."
        )
        return Move(from_version=None, changes=[], refused=refused)
    return move_to(_snapshot(study, campaign, case), configuration, now)


@data.get("/api/in-force/{study}/{case}")
def settings_in_force(study: StudyName, case: Case, reads: MayRead) -> ActiveView:
    """Return the versions of the active settings for one case, of the clusters whose DAG the user may read."""
    kept = versions(_store(), study, case)
    return active_view([each for each in kept if reads(tune_dag_of(cluster_of_version(_store(), each)))])


@data.get("/api/in-force/{study}/{case}/{file}")
def file_in_force(study: StudyName, case: Case, file: FileName) -> PlainTextResponse:
    """Return the active settings as a file that clients read."""
    return PlainTextResponse(active_text(_store(), study, case, file), headers=download(f"{study}-{case}-{file}"))


@data.get("/api/checks/{study}/{case}")
def checks(study: StudyName, case: Case, reads: MayRead) -> list[PastCheck]:
    """Return the checks of one case, the oldest first, of the clusters whose DAG the user may read."""

    def cluster_of_check(check: str) -> str:
        return frozen_head(_store(), CheckKeys(study, check))[1]

    return [each for each in read_checks(_store(), study, case) if reads(tune_dag_of(cluster_of_check(each.check)))]


@data.get("/api/campaigns/{study}/{campaign}/{case}/{configuration}/{file}")
def settings_file(
    study: StudyName, campaign: CampaignId, case: Case, configuration: ConfigurationId, file: FileName
) -> PlainTextResponse:
    """Return the settings of one configuration as a file that clients read."""
    text = settings_text(_snapshot(study, campaign, case), configuration, file)
    return PlainTextResponse(text, headers=download(f"{case}-{configuration}-{file}"))


@rest.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def nothing_else(path: str) -> None:  # noqa: ARG001 (required by the route)
    """Refuse any other path, after the check of the whole app."""
    raise HTTPException(404, "page not found")


def _page(name: str) -> HTMLResponse:
    text = (PAGE / name).read_text(encoding="utf-8")
    return HTMLResponse(text.replace("PLOTLY_VERSION", _PLOTLY_VERSION))


def _snapshot(study: str, campaign: str, case: str) -> Snapshot:
    return read_snapshot(Campaign.open(_store(), study, campaign), case)


@lru_cache(1)
def _store() -> Store:
    return open_store(load_settings())
