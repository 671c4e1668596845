"""Serve the data of the page *Comparisons*. The app that includes these routes checks access."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import CampaignEntry, list_campaigns_of
from kafka_pareto.comparison.tables import part_csv
from kafka_pareto.explorer.comparison_view import (
    ComparisonOverview,
    PartView,
    comparison_overview,
    part_view,
    read_part,
)
from kafka_pareto.storage.store import Store
from kafka_pareto.study.identifiers import compare_dag_of
from kafka_pareto_airflow.explorer.access import MayRead
from kafka_pareto_airflow.explorer.answers import download
from kafka_pareto_airflow.explorer.own_threads import DataRouter, OwnThreads
from kafka_pareto_airflow.explorer.parameters import CampaignId, Case, StudyName


def comparison_router(store: Callable[[], Store], threads: OwnThreads) -> APIRouter:
    """Return the routes, which read this store in these threads."""
    router = DataRouter(threads, "/api/comparisons")

    @router.get("")
    def comparisons(reads: MayRead) -> list[CampaignEntry]:
        """List the comparisons."""
        return [each for each in list_campaigns_of(store(), "compare") if reads(compare_dag_of(each.cluster))]

    @router.get("/{study}/{campaign}")
    def overview(study: StudyName, campaign: CampaignId) -> ComparisonOverview:
        """Return a comparison's parts and the name of its report."""
        return comparison_overview(store(), CampaignKeys(study, campaign))

    @router.get("/{study}/{campaign}/{case}")
    def view(study: StudyName, campaign: CampaignId, case: Case) -> PartView:
        """Return the view of one part."""
        return part_view(read_part(store(), CampaignKeys(study, campaign), case))

    @router.get("/{study}/{campaign}/{case}/levels.csv")
    def levels(study: StudyName, campaign: CampaignId, case: Case) -> PlainTextResponse:
        """Return every number of one part as CSV."""
        text = part_csv(read_part(store(), CampaignKeys(study, campaign), case))
        headers = download(f"comparison-{study}-{campaign}-{case}.csv")
        return PlainTextResponse(text, media_type="text/csv", headers=headers)

    return router
