"""Where the tasks of each Kafka cluster run: the installation's own, and those that studies name."""

from __future__ import annotations

from dataclasses import dataclass

from airflow.configuration import conf

from kafka_pareto.study.cluster_names import cluster_names
from kafka_pareto.study.identifiers import pool_of, queue_of, tune_dag_of
from kafka_pareto_airflow.forms.parameters import study_files, study_names


@dataclass(frozen=True)
class ClusterRoute:
    """Leads the tasks of one cluster to its DAG, its pool and its workers, apart from those of other clusters.

    Attributes:
        tune_dag_id: The DAG that tunes the cluster.
        pool: Its one slot lets one load at a time onto the cluster.
        queue: To which an executor with queues hands the tasks: workers near the cluster listen to it.
        studies: What may be asked of that DAG.
    """

    tune_dag_id: str
    pool: str
    queue: str
    studies: list[str]


def own_route() -> ClusterRoute:
    """Returns the route to the installation's own cluster, for every study that names none."""
    named = cluster_names(study_files())
    studies = [study for study in study_names() if study not in named]
    return ClusterRoute(tune_dag_of(""), pool_of(""), conf.get("operators", "default_queue"), studies)


def named_routes() -> dict[str, ClusterRoute]:
    """Returns the route to each cluster that studies name, by the cluster's name."""
    named = cluster_names(study_files())
    return {
        name: ClusterRoute(
            tune_dag_id=tune_dag_of(name),
            pool=pool_of(name),
            queue=queue_of(name),
            studies=[study for study in named if named[study] == name],
        )
        for name in sorted(set(named.values()))
    }


def routes_of_studies() -> dict[str, ClusterRoute]:
    """Returns the route of each study that names its cluster, by the study's name."""
    return {study: route for route in named_routes().values() for study in route.studies}
