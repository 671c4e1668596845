"""Settings as Spring Boot's file: its own binder takes them, and gives them to the producer as Java's own file does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.rollout.client_files import settings_file
from tests.exported_settings import exported_settings, read_by_java

pytestmark = pytest.mark.servers  # none, but Maven fetches Spring

SPRING_BINDS = Path(__file__).parents[1] / "fixtures" / "LoadedApplicationYaml.java"


@pytest.mark.long
def test_spring_takes_every_value_of_every_property(tmp_path: Path, spring_jars: Path) -> None:
    found = [settings for settings in exported_settings() if settings]  # a file that says nothing binds nothing
    for number, settings in enumerate(found):
        for name in ("producer.properties", "application.yaml"):
            (tmp_path / f"{number}{Path(name).suffix}").write_text(settings_file(settings, name, [], "producer"))
    assert read_by_java(SPRING_BINDS, spring_jars, tmp_path) == [str(len(found))]
