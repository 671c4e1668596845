"""The store under test, in each of its kinds: contract tests run once per kind. And the MLflow that they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_pareto.settings import Settings
from kafka_pareto.storage.store import Store, open_store
from tests.mlflow_server import MlflowServer, mlflow_server

KINDS = [
    pytest.param("folder", marks=pytest.mark.servers),  # no server, but the leases wait out their terms
    pytest.param("minio", marks=pytest.mark.servers),
]


@pytest.fixture(params=KINDS)
def store_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """The settings of an installation with its own empty store."""
    if request.param == "folder":
        return Settings(store_folder=tmp_path / "store")
    settings: Settings = request.getfixturevalue("minio_server").settings()
    return settings


@pytest.fixture
def store(store_settings: Settings) -> Store:
    return open_store(store_settings)


@pytest.fixture
def disk(request: pytest.FixtureRequest, store_settings: Settings) -> Path:
    """The folder in which the store under test keeps its bytes."""
    if store_settings.store_folder is not None:
        return store_settings.store_folder
    data: Path = request.getfixturevalue("minio_server").data
    return data


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    """An MLflow server, which takes ten seconds to start."""
    with mlflow_server(tmp_path_factory.mktemp("mlflow")) as server:
        yield server
