"""Check access to the explorer: users see the data of clusters whose DAGs they may read.

A plugin's app does not inherit the checks of Airflow's core API. A dependency of the whole app repeats them for every
route.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, TypeAlias

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dag import DagModel
from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.listing import frozen_head
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.rollout.versions import active_settings, cluster_of_version
from kafka_pareto.settings import load_settings
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import CASE
from kafka_pareto.study.cluster_names import cluster_names, cluster_of
from kafka_pareto.study.identifiers import CAMPAIGN_ID, STUDY_NAME, TUNE_DAG_ID, compare_dag_of, tune_dag_of
from kafka_pareto_airflow.explorer.own_threads import OwnThreads
from kafka_pareto_airflow.forms import study_files

_PATTERNS = {"study": STUDY_NAME, "campaign": CAMPAIGN_ID, "case": CASE}


def reads_of(user: GetUserDep) -> Callable[[str], bool]:
    """Return a function that returns whether this user may read a DAG."""

    @lru_cache  # cached, because each check queries the database and many campaigns share a cluster
    def may_read(dag_id: str) -> bool:
        details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
        return bool(get_auth_manager().is_authorized_dag(method="GET", details=details, user=user))

    return may_read


MayRead: TypeAlias = Annotated[Callable[[str], bool], Depends(reads_of)]
"""Returns whether the user who sent the request may read a DAG; FastAPI passes it in."""


class Readers:
    """Admit users who may read a cluster's DAG; for named studies and campaigns, the DAG of their cluster."""

    def __init__(self, store: Callable[[], Store], threads: OwnThreads) -> None:
        @lru_cache(1024)  # a frozen study never changes, and every open page polls its progress
        def head(study: str, campaign: str) -> tuple[str, str]:
            return frozen_head(store(), CampaignKeys(study, campaign))

        self._store = store
        self._threads = threads
        self._frozen_head = head

    async def __call__(self, request: Request, reads: MayRead) -> None:
        """Refuse all other users.

        Raises:
            HTTPException: 401 without a session, 403 without read permission.
        """
        named = request.path_params
        if "study" not in named:
            if not await run_in_threadpool(_reads_any, reads):
                raise HTTPException(403, f"You need permission to read a cluster's DAG, such as {TUNE_DAG_ID}.")
            return
        if not all(re.fullmatch(_PATTERNS[key], named[key]) for key in _PATTERNS.keys() & named):
            raise HTTPException(404, "page not found")
        # In a thread, because the store may be remote.
        for dag_id in await self._threads.answer(lambda: self._dags_of(named)):
            if not await run_in_threadpool(reads, dag_id):
                raise HTTPException(403, f"You need permission to read the DAG {dag_id}.")

    def _dags_of(self, named: Mapping[str, Any]) -> list[str]:
        """List the DAGs of the clusters of a campaign or of a study's active settings."""
        study = named["study"]
        if "campaign" in named:
            try:
                kind, cluster = self._frozen_head(study, named["campaign"])
            except MissingArtifactError:  # users with access get "not found"
                kind, cluster = "tune", cluster_of(load_settings().studies, study)
            return [compare_dag_of(cluster) if kind == "compare" else tune_dag_of(cluster)]
        clusters = {cluster_of(load_settings().studies, study)}
        store = self._store()
        if now := active_settings(store, study, named["case"]):
            clusters.add(cluster_of_version(store, now))  # the study may have named another cluster at that time
        return [tune_dag_of(cluster) for cluster in sorted(clusters)]


def _reads_any(reads: Callable[[str], bool]) -> bool:
    def of(clusters: Iterable[str]) -> bool:
        return any(reads(dag_of(cluster)) for cluster in clusters for dag_of in (tune_dag_of, compare_dag_of))

    return of([""]) or of(set(cluster_names(study_files()).values()))  # slow, because it reads all studies
