"""Suites of expectations as data, and what is refused in their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.campaign.suites import Expectation, load_suites
from kafka_pareto.errors import BadInputError

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
        ("rows:\n- {name: a, type: b, reason: c}\n- {name: a, type: b, reason: c}", "rows: a: a name is given twice"),
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
