"""Suites of expectations as data, and the errors of their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.suites import OF_EVERY_DRIVER, Expectation, load_suites, suites_of
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.declarations import Driver
from tests.recorded import paper_study

pytestmark = pytest.mark.fast


def test_an_expectation_is_asked_of_each_of_its_columns_with_that_columns_value() -> None:
    expectation = Expectation(
        name="types", type="expect_x", columns="$factors", kwargs={"type_list": "$types"}, reason="is of another type"
    )
    asked = expectation.configurations({"factors": ["a", "b"], "types": {"a": ["int"], "b": ["str"]}})
    assert [each["kwargs"] for each in asked] == [
        {"column": "a", "type_list": ["int"]},
        {"column": "b", "type_list": ["str"]},
    ]
    assert [each["meta"]["reason"] for each in asked] == ["a is of another type", "b is of another type"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows:\n- {name: a, type: b, reason: c, kwarg: {}}", "rows.0.kwarg: Extra inputs are not permitted"),
        ("rows:\n- {name: a, type: b}", "rows.0.reason: Field required"),
        ("rows:\n- {name: a, type: b, reason: c, severity: bad}", "rows.0.severity"),
        ("rows:\n- {name: a, type: b, reason: c}\n- {name: a, type: b, reason: c}", "rows: a: names must be unique"),
        ("rows: [", "cannot be read"),
    ],
)
def test_a_suite_file_with_a_defect_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "suites.yaml"
    path.write_text(text)
    with pytest.raises(BadInputError) as refusal:
        load_suites(path)
    assert str(refusal.value).startswith(str(path))
    assert said in str(refusal.value)


OF_ALL = "rows:\n- {name: a, type: b, reason: c}"


def names_of(folder: Path, common: str, own: str) -> dict[str, list[str]]:
    of_all, consumer = folder / "all.yaml", folder / "consumer.yaml"
    of_all.write_text(common)
    consumer.write_text(own)
    driver = Driver("consumer", quantities=(), objectives=(), expectations=consumer, identity=("group",))
    return {suite: [each.name for each in found] for suite, found in suites_of(driver, of_all).items()}


def test_a_driver_adds_to_the_common_suites_and_brings_its_own_but_no_name_twice(tmp_path: Path) -> None:
    own = "rows:\n- {name: d, type: e, reason: f}\nlags:\n- {name: a, type: g, reason: h}"
    assert names_of(tmp_path, OF_ALL, own) == {"rows": ["a", "d"], "lags": ["a"]}
    twice = tmp_path / "twice"
    twice.mkdir()
    with pytest.raises(BadInputError, match=r"consumer\.yaml: rows: a: names must be unique"):
        names_of(twice, OF_ALL, OF_ALL)


def test_expectations_for_every_driver_need_no_producer_column() -> None:
    common = load_suites(OF_EVERY_DRIVER)
    asked = "\n".join(repr(each) for suite in common.values() for each in suite)
    own = [quantity.name for quantity in PRODUCER.quantities] + [f"${name}" for name in paper_study().rule_parameters()]
    assert [name for name in own if f"'{name}'" in asked] == []
