"""The cluster with Airflow in it, shared by the package."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compose.engine import Engine
from tests.compose.kubernetes.cluster import kubernetes_cluster
from tests.compose.kubernetes.pod_airflow import STUDY, PodAirflow, start_airflow
from tests.compose.kubernetes.programs import why_not
from tests.compose.phases import phase
from tests.compose.stack import ComposeStack
from tests.required import require


@pytest.fixture(scope="package")
def airflow(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodAirflow]:
    """Airflow in a cluster of these tests' own."""
    require("Kubernetes", why_not())
    services = ComposeStack(engine, tmp_path_factory.mktemp("services"))
    with phase("kubernetes: images built"):
        services.build_services({STUDY: services.tuning_studies()[STUDY]})
    try:
        with phase("kubernetes: brokers, store, MLflow and Postgres healthy"):
            services.start_services()
        with kubernetes_cluster(tmp_path_factory.mktemp("kubernetes"), engine) as cluster:
            with phase("kubernetes: images copied"):
                cluster.import_images(engine, ["kafka-pareto/airflow:local", "kafka-pareto/steps:local"])
            yield start_airflow(cluster, services)
    finally:
        services.down()
