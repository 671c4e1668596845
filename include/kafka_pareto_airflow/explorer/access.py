"""Check who may see what in the explorer: whoever may read the DAG of its cluster.

A plugin's app does not inherit the checks of Airflow's core API. So a dependency of the whole app does what the core
API does for each of its routes.
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
    """Return the check whether this user may read a DAG."""

    @lru_cache  # each asks the database, and many campaigns are of one cluster
    def may_read(dag_id: str) -> bool:
        details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
        return bool(get_auth_manager().is_authorized_dag(method="GET", details=details, user=user))

    return may_read


MayRead: TypeAlias = Annotated[Callable[[str], bool], Depends(reads_of)]
"""The check whether the user of a request may read a DAG."""


class Readers:
    """Let in those who may read a DAG of a cluster; to what is named, those who may read its own cluster's."""

    def __init__(self, store: Callable[[], Store], threads: OwnThreads) -> None:
        @lru_cache(1024)  # a frozen study stays as it is, and every open page asks for its progress again and again
        def head(study: str, campaign: str) -> tuple[str, str]:
            return frozen_head(store(), CampaignKeys(study, campaign))

        self._store = store
        self._threads = threads
        self._frozen_head = head

    async def __call__(self, request: Request, reads: MayRead) -> None:
        """Refuse everybody else.

        Raises:
            HTTPException: 401 without a session, 403 without the right to read.
        """
        named = request.path_params
        if "study" not in named:
            if not await run_in_threadpool(_reads_any, reads):
                raise HTTPException(403, f"Only those who may read a cluster's DAG, as {TUNE_DAG_ID}, see this.")
            return
        if not all(re.fullmatch(_PATTERNS[key], named[key]) for key in _PATTERNS.keys() & named):
            raise HTTPException(404, "there is no such page")
        # The store is opened there as well: it may have to be asked over the network.
        for dag_id in await self._threads.answer(lambda: self._dags_of(named)):
            if not await run_in_threadpool(reads, dag_id):
                raise HTTPException(403, f"Only those who may read the DAG {dag_id} see this.")

    def _dags_of(self, named: Mapping[str, Any]) -> list[str]:
        """List the DAGs of the clusters that a campaign, or the active settings of a study, is about."""
        study = named["study"]
        if "campaign" in named:
            try:
                kind, cluster = self._frozen_head(study, named["campaign"])
            except MissingArtifactError:  # whoever may look is told that there is none
                kind, cluster = "tune", cluster_of(load_settings().studies, study)
            return [compare_dag_of(cluster) if kind == "compare" else tune_dag_of(cluster)]
        clusters = {cluster_of(load_settings().studies, study)}
        store = self._store()
        if now := active_settings(store, study, named["case"]):
            clusters.add(cluster_of_version(store, now))  # the study may have named another cluster then
        return [tune_dag_of(cluster) for cluster in sorted(clusters)]


def _reads_any(reads: Callable[[str], bool]) -> bool:
    def of(clusters: Iterable[str]) -> bool:
        return any(reads(dag_of(cluster)) for cluster in clusters for dag_of in (tune_dag_of, compare_dag_of))

    return of([""]) or of(set(cluster_names(study_files()).values()))  # reading the studies takes its time
