"""Where the tasks of each Kafka cluster run: the installation's own, and those that studies name."""

from __future__ import annotations

from dataclasses import dataclass

from airflow.configuration import conf

from kafka_pareto.study.cluster_names import cluster_names, pool_of, tune_dag_of
from kafka_pareto_airflow.forms.parameters import study_files, study_names


@dataclass(frozen=True)
class Rails:
    """What keeps the loads of different clusters apart.

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


def own_rails() -> Rails:
    """Those of the installation's own cluster, for every study that names none."""
    named = cluster_names(study_files())
    studies = [study for study in study_names() if study not in named]
    return Rails(tune_dag_of(""), pool_of(""), conf.get("operators", "default_queue"), studies)


def named_rails() -> dict[str, Rails]:
    """Those of each cluster that studies name, by the cluster's name."""
    named = cluster_names(study_files())
    return {
        name: Rails(
            tune_dag_id=tune_dag_of(name),
            pool=pool_of(name),
            queue=f"kafka_{name}",
            studies=[study for study in named if named[study] == name],
        )
        for name in sorted(set(named.values()))
    }


def rails_of_studies() -> dict[str, Rails]:
    """Those of each study that names its cluster, by the study's name."""
    return {study: rails for rails in named_rails().values() for study in rails.studies}
