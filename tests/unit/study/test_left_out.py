"""Leaves out of a comparison what a machine cannot do, by name and reason; never a comparison's reference."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_pareto.drivers.ingestion.studies import CompareIngestion
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.overrides import without_impossible

pytestmark = pytest.mark.fast


def study(**changes: Any) -> CompareIngestion:
    content: dict[str, Any] = {
        "schema_version": 1,
        "kind": "compare",
        "driver": "ingestion",
        "name": "example",
        "description": "Of a test.",
        "tables": [
            {"factor": "senders", "levels": ["sequential", "virtual_threads_100"], "name": "threads"},
            {"factor": "path", "levels": ["producer", "batches", "kcat"], "published": {"rows_s": [1, None, 3]}},
        ],
        "variants": [
            {"name": "ways", "variants": {"ours": {}, "other": {"path": "kcat"}, "line": {"reader": "line"}}},
        ],
    }
    return CompareIngestion.model_validate(content | changes)


def no_kcat(level: Configuration) -> str:
    return "no kcat here" if level["path"] == "kcat" else ""


def test_a_study_that_can_be_measured_whole_stays_as_it_is_and_a_part_of_one_level_goes_whole() -> None:
    assert without_impossible(study(), lambda _: "") == (study(), [])
    found, _ = without_impossible(study(), lambda level: "Java" if level["senders"] != "sequential" else "")
    assert found.cases == ["ways", "path"]


def test_levels_and_variants_go_with_their_published_numbers_and_are_told() -> None:
    found, told = without_impossible(study(), no_kcat)

    assert found.part("path").factors == {"path": ["producer", "batches"]}
    assert found.part("path").published == {"rows_s": [1, None]}
    assert list(found.variants[0].variants) == ["ours", "line"]
    assert found.cases == ["ways", "threads", "path"]
    assert [str(each) for each in told] == [
        "part ways left out: no kcat here (file: other)",
        "part path left out: no kcat here (file: kcat)",
    ]


def test_a_reference_that_cannot_be_measured_is_an_error() -> None:
    with pytest.raises(BadInputError, match="part ways: cannot be measured here: no kcat here"):
        without_impossible(study(reference={"path": "kcat"}, tables=[], variants=[WAYS_OF_KCAT]), no_kcat)


WAYS_OF_KCAT = {"name": "ways", "variants": {"ours": {}, "other": {"path": "producer"}}}
