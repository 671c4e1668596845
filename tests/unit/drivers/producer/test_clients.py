"""Versions of Kafka's client, found by the folder of their jars."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kafka_pareto.drivers.producer.clients import InstalledClient, fault_of, installed
from kafka_pareto.drivers.producer.runtime import RUNTIME
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.settings import Settings, load_settings
from kafka_pareto.study.study_file import load_study, parse_study
from kafka_pareto.study.workload import BUNDLED, ProducerLoad
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A folder with the jar of one version."""
    jar = tmp_path / "3.9.1" / "kafka-clients-3.9.1.jar"
    jar.parent.mkdir(mode=0o755)
    jar.touch(mode=0o644)
    return load_settings().model_copy(update={"client_jars": tmp_path})


def java(version: str) -> ProducerLoad:
    return ProducerLoad(1024, client_version=version)


def librdkafka(version: str) -> ProducerLoad:
    return ProducerLoad(1024, client="librdkafka", client_version=version)


def test_a_version_is_a_folder_with_a_jar_and_the_bundled_one_needs_none(settings: Settings) -> None:
    assert installed(java("3.9.1"), settings) == InstalledClient(jars=settings.client_jars / "3.9.1")
    assert installed(java(BUNDLED), settings) == InstalledClient()


def test_a_version_of_librdkafka_is_one_library_and_the_bundled_one_is_the_wheels(settings: Settings) -> None:
    library = settings.client_jars / "2.3.0" / "librdkafka.so.1"
    assert f"{library.parent} must have one librdkafka.so" in fault_of(librdkafka("2.3.0"), settings)
    library.parent.mkdir(mode=0o755)
    library.touch(mode=0o644)
    (library.parent / "librdkafka++.so.1").touch()
    assert installed(librdkafka("2.3.0"), settings) == InstalledClient(librdkafka=library)
    library.chmod(0o666)
    assert f"{library}: must belong to you or root" in fault_of(librdkafka("2.3.0"), settings)
    bundled = installed(librdkafka(BUNDLED), settings)
    assert bundled.jars is None
    assert bundled.librdkafka is not None
    assert bundled.librdkafka.is_file()


@pytest.mark.parametrize("client", ["../3.9.1", "3.9.1/", "", ".", "~", "a b"])
def test_the_name_of_a_version_is_no_path(client: str, settings: Settings) -> None:
    with pytest.raises(BadInputError, match="must be bundled or a folder name"):
        installed(java(client), settings)


def test_a_version_that_is_missing_or_that_others_may_write_is_refused(settings: Settings) -> None:
    assert fault_of(java("3.9.2"), settings).startswith(
        f"client: 3.9.2: {settings.client_jars / '3.9.2'} has no kafka-clients"
    )
    (jar,) = (settings.client_jars / "3.9.1").iterdir()
    jar.chmod(0o646)
    assert fault_of(java("3.9.1"), settings).startswith(f"client: 3.9.1: {jar}: must belong to you or root")


def test_a_study_says_which_of_its_versions_this_machine_lacks(settings: Settings) -> None:
    study = load_study(STUDIES / "client_upgrade.yaml")
    assert RUNTIME.fault_here(study, settings, {"client": "3.9.1"}) == ""
    assert "has no kafka-clients jar" in RUNTIME.fault_here(study, settings, {"client": "4.0.0"})


def test_kafkas_own_tool_has_one_version_only() -> None:
    study = yaml.safe_load((STUDIES / "client_upgrade.yaml").read_text(encoding="utf-8"))
    study["protocol"] = {"kind": "steady", "load_tool": "kafka_perf_test", "repetitions": 8, "seconds": 2}
    with pytest.raises(StudyError, match=r"client needs protocol\.load_tool load_generator"):
        parse_study(yaml.safe_dump(study), "study.yaml")
