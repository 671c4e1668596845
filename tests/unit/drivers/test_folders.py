"""A driver is one folder: its content, and that nothing outside is named after it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kafka_pareto
from kafka_pareto.measurement.driver_runtime import DriverRuntime
from kafka_pareto.study.declarations import driver_module, driver_names, drivers
from kafka_pareto.study.study_file import study_classes

pytestmark = pytest.mark.fast
LIBRARY = Path(kafka_pareto.__file__).parent


@pytest.mark.parametrize("name", driver_names())
def test_every_driver_of_the_list_can_be_opened_by_its_doors(name: str) -> None:
    assert drivers()[name].name == name
    assert drivers()[name].expectations.is_file()
    assert {study.declaration for (_, driver), study in study_classes().items() if driver == name} == {drivers()[name]}
    assert isinstance(driver_module(name, "runtime").RUNTIME, DriverRuntime)


def test_no_module_of_the_core_is_named_after_a_driver() -> None:
    names = "|".join(driver_names())
    modules = [path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py")]
    core = [path for path in modules if path.parts[0] not in ("drivers", "kafka")]  # Kafka's own clients
    assert len(core) > 100
    assert [path for path in core if re.search(rf"(?:^|_|/)(?:{names})(?:_|/|\.)", str(path))] == []


def test_the_core_names_no_driver_but_the_one_that_a_study_has_by_default() -> None:
    named = re.compile(rf'"(?:{"|".join(driver_names())})"')
    found = {
        str(path.relative_to(LIBRARY)): len(named.findall(path.read_text("utf-8")))
        for path in LIBRARY.rglob("*.py")
        if path.relative_to(LIBRARY).parts[0] not in ("audit", "drivers", "doctor", "kafka")  # they know clients
    }
    assert {path: times for path, times in found.items() if times} == {"study/identifiers.py": 1}
