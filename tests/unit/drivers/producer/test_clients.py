"""Versions of Kafka's client, found by the folder of their jars."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kafka_pareto.drivers.producer.clients import fault_of, jars_of
from kafka_pareto.drivers.producer.runtime import RUNTIME
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.study_file import load_study, parse_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A folder with the jar of one version."""
    jar = tmp_path / "3.9.1" / "kafka-clients-3.9.1.jar"
    jar.parent.mkdir(mode=0o755)
    jar.touch(mode=0o644)
    return load_settings().model_copy(update={"client_jars": tmp_path})


def test_a_version_is_a_folder_with_a_jar_and_the_bundled_one_needs_none(settings: Settings) -> None:
    assert jars_of("3.9.1", settings) == settings.client_jars / "3.9.1"
    assert jars_of("bundled", settings) is None


@pytest.mark.parametrize("client", ["../3.9.1", "3.9.1/", "", ".", "~", "a b"])
def test_the_name_of_a_version_is_no_path(client: str, settings: Settings) -> None:
    with pytest.raises(BadInputError, match="must be bundled or a folder name"):
        jars_of(client, settings)


def test_a_version_that_is_missing_or_that_others_may_write_is_refused(settings: Settings) -> None:
    assert fault_of("3.9.2", settings).startswith(
        f"client: 3.9.2: {settings.client_jars / '3.9.2'} has no kafka-clients"
    )
    (jar,) = (settings.client_jars / "3.9.1").iterdir()
    jar.chmod(0o646)
    assert fault_of("3.9.1", settings).startswith(f"client: 3.9.1: {jar}: must belong to you or root")


def test_a_study_says_which_of_its_versions_this_machine_lacks(settings: Settings) -> None:
    study = load_study(STUDIES / "client_upgrade.yaml")
    assert RUNTIME.fault_here(study, settings, {"client": "3.9.1"}) == ""
    assert "has no kafka-clients jar" in RUNTIME.fault_here(study, settings, {"client": "4.0.0"})


def test_kafkas_own_tool_has_one_version_only() -> None:
    study = yaml.safe_load((STUDIES / "client_upgrade.yaml").read_text(encoding="utf-8"))
    study["protocol"] = {"kind": "steady", "load_tool": "kafka_perf_test", "repetitions": 8, "seconds": 2}
    with pytest.raises(StudyError, match=r"client needs protocol\.load_tool load_generator"):
        parse_study(yaml.safe_dump(study), "study.yaml")
