"""Says where the tasks of each Kafka cluster run: of the installation's own, and of those that studies name."""

from __future__ import annotations

from dataclasses import dataclass

from airflow.configuration import conf

from kafka_pareto.study.cluster_names import cluster_names
from kafka_pareto.study.identifiers import compare_dag_of, pool_of, queue_of, settings_dag_of, tune_dag_of
from kafka_pareto_airflow.forms import study_files, study_names


@dataclass(frozen=True)
class ClusterRoute:
    """Routes the tasks of one cluster to its own DAGs, pool and workers.

    Attributes:
        cluster: Its name; empty for the installation's own.
        tune_dag_id: The DAG that tunes the cluster.
        compare_dag_id: The DAG that compares configurations on it.
        settings_dag_id: The DAG that moves what is in force on it, and asks people.
        pool: Has one slot, so that one load at a time runs on the cluster.
        queue: The queue of an executor that has queues; workers near the cluster listen to it.
        studies: The studies that the DAG which tunes offers.
        comparisons: The studies that the DAG which compares offers.
    """

    cluster: str
    tune_dag_id: str
    compare_dag_id: str
    settings_dag_id: str
    pool: str
    queue: str
    studies: list[str]
    comparisons: list[str]


def own_route() -> ClusterRoute:
    """Return the route to the installation's own cluster, for every study that names none."""
    named = cluster_names(study_files())
    return _route("", [file.stem for file in study_files() if file.stem not in named])


def named_routes() -> dict[str, ClusterRoute]:
    """Return the route to each cluster that studies name, by the cluster's name."""
    named = cluster_names(study_files())
    return {
        name: _route(name, [study for study in named if named[study] == name]) for name in sorted(set(named.values()))
    }


def _route(cluster: str, studies: list[str]) -> ClusterRoute:
    of_kind = {kind: set(study_names(kind)) for kind in ("tune", "compare")}
    return ClusterRoute(
        cluster=cluster,
        tune_dag_id=tune_dag_of(cluster),
        compare_dag_id=compare_dag_of(cluster),
        settings_dag_id=settings_dag_of(cluster),
        pool=pool_of(cluster),
        queue=queue_of(cluster) if cluster else conf.get("operators", "default_queue"),
        studies=[study for study in studies if study in of_kind["tune"]],
        comparisons=[study for study in studies if study in of_kind["compare"]],
    )


def routes_of_studies() -> dict[str, ClusterRoute]:
    """Return the route of each study that names its cluster, by the study's name."""
    return {study: route for route in named_routes().values() for study in route.studies}
