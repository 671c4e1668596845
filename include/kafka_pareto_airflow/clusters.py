"""Route the tasks of each Kafka cluster: the stack's cluster and those that studies name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow.configuration import conf

from kafka_pareto.study.cluster_names import cluster_names, has_load_machines, kind_of
from kafka_pareto.study.identifiers import (
    compare_dag_of,
    load_machines_dag_of,
    load_machines_queue_of,
    pool_of,
    queue_of,
    settings_dag_of,
    tune_dag_of,
)
from kafka_pareto_airflow.forms import study_files


@dataclass(frozen=True)
class ClusterRoute:
    """The DAGs, pool and workers of one cluster.

    Attributes:
        cluster: Its name; empty for the stack's cluster.
        tune_dag_id: The DAG that tunes the cluster.
        compare_dag_id: The DAG that compares configurations on it.
        settings_dag_id: The DAG that changes the active settings on it, and requests approval.
        load_machines_dag_id: The DAG that runs load machines for its campaigns and checks, if `has_load_machines`.
        load_machines_queue: The queue of the workers on these machines.
        pool: The pool with one slot, so that one load at a time runs on the cluster.
        queue: The queue for executors with queues; workers near the cluster listen to it.
        studies: The studies of the tuning DAG.
        comparisons: The studies of the comparing DAG.
        has_load_machines: Whether one of its studies asks for load machines.
    """

    cluster: str
    tune_dag_id: str
    compare_dag_id: str
    settings_dag_id: str
    load_machines_dag_id: str
    load_machines_queue: str
    pool: str
    queue: str
    studies: list[str]
    comparisons: list[str]
    has_load_machines: bool


def cluster_routes() -> list[ClusterRoute]:
    """Return the route to the stack's cluster, then one to each cluster that studies name."""
    files = study_files()
    named = cluster_names(files)
    return [
        _route(cluster, [file for file in files if named.get(file.stem, "") == cluster])
        for cluster in ["", *sorted(set(named.values()))]
    ]


def _route(cluster: str, files: list[Path]) -> ClusterRoute:
    kinds = {file.stem: kind_of(file) for file in files}
    return ClusterRoute(
        cluster=cluster,
        tune_dag_id=tune_dag_of(cluster),
        compare_dag_id=compare_dag_of(cluster),
        settings_dag_id=settings_dag_of(cluster),
        load_machines_dag_id=load_machines_dag_of(cluster),
        load_machines_queue=load_machines_queue_of(cluster),
        pool=pool_of(cluster),
        queue=queue_of(cluster) if cluster else conf.get("operators", "default_queue"),
        studies=[study for study, kind in kinds.items() if kind == "tune"],
        comparisons=[study for study, kind in kinds.items() if kind == "compare"],
        has_load_machines=any(map(has_load_machines, files)),
    )
