"""Fixtures that any test may ask for."""

pytest_plugins = ["tests.system.broker_fixtures", "tests.contract.minio_fixture"]
