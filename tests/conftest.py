"""Fixtures that any test may ask for."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.system.broker_fixtures", "tests.contract.minio_fixture"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The fast tests go first: most mistakes show within two minutes."""
    items.sort(key=lambda item: item.get_closest_marker("fast") is None)
