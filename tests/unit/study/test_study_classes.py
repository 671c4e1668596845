"""A kind and a driver added by a test: the layers' requirements, and the files each pair accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from kafka_pareto.drivers.calls.studies import TuneCalls
from kafka_pareto.drivers.producer.compare import CompareProducer
from kafka_pareto.drivers.producer.study import ProducerStudy
from kafka_pareto.drivers.producer.tune import TuneProducer
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.study.overrides import with_overrides
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import dump_study, parse_study
from kafka_pareto.study.tune import tune_study
from kafka_pareto.surrogates.gaussian_process import inputs
from kafka_pareto.surrogates.surrogate import feature_encoding
from tests.other_driver import known_driver

pytestmark = pytest.mark.fast


COMMON = {
    "schema_version": 1,
    "name": "example",
    "description": "Of a test.",
    "protocol": {"repetitions": 3},
}
OF_TUNE = {"design": {"configurations": 2}, "confirmation": {"points": 1, "choice_blocks": 2, "gain_blocks": 2}}
CALLING = {
    **COMMON,
    "factors": {"agents": {"type": "integer", "levels": [2, 5]}},
    **OF_TUNE,
    "driver": "calls",
    "hours": ["morning", "evening"],
}
COMPARING = {
    **COMMON,
    "kind": "compare",
    "tables": [{"factor": "linger.ms", "levels": [0, 5]}],
    "protocol": {"kind": "cold_burst", "records": 1000, "repetitions": 3},
}
TUNING = {
    **COMMON,
    **OF_TUNE,
    "factors": {"linger.ms": {"type": "integer", "levels": [0, 5]}},
    "record_sizes_bytes": [1024],
    "protocol": {"kind": "cold_burst", "records": 1000, "repetitions": 3},
}


@pytest.fixture(autouse=True)
def _more_studies() -> Iterator[None]:
    with known_driver():
        yield


def parsed(content: dict[str, Any]) -> Study:
    return parse_study(yaml.safe_dump(content), "example.yaml")


def refusal_of(content: dict[str, Any]) -> list[str]:
    with pytest.raises(StudyError) as refused:
        parsed(content)
    return refused.value.problems


@pytest.mark.parametrize(
    ("content", "wanted"), [(CALLING, TuneCalls), (COMPARING, CompareProducer), (TUNING, TuneProducer)]
)
def test_kind_and_driver_select_the_study_of_a_file_by_default_tuning_a_producer(
    content: dict[str, Any], wanted: type[Study]
):
    study = parsed(content)

    assert type(study) is wanted
    assert parse_study(dump_study(study), "frozen") == study
    assert [*yaml.safe_load(dump_study(study))][:4] == ["schema_version", "kind", "driver", "name"]


KINDS = "kind: 'compares': must be one of tune, compare; did you mean compare?"
DRIVERS = "producer, librdkafka, consumer, ingestion, services, log_pipeline"
OF_NO_STUDY = "is not a key of a study"


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        (
            {**COMPARING, "kind": "compares", "driver": ["producer"]},
            [KINDS, f"driver: ['producer']: must be one of {DRIVERS}, calls; did you mean producer?"],
        ),
        ({**CALLING, "kind": "compare"}, [f"driver: 'calls': must be one of {DRIVERS} where kind is compare"]),
        (
            {**COMPARING, **OF_TUNE},
            [
                f"confirmation: {{'choice_blocks': 2, 'gain_blocks': 2, 'points': 1}}: {OF_NO_STUDY}",
                f"design: {{'configurations': 2}}: {OF_NO_STUDY}",
            ],
        ),
        ({**CALLING, "hour": ["morning"]}, [f"hour: ['morning']: {OF_NO_STUDY}; did you mean hours?"]),
    ],
)
def test_an_unknown_kind_or_driver_and_a_key_of_another_are_refused_with_those_that_there_are(
    content: dict[str, Any], problems: list[str]
):
    assert refusal_of(content) == problems


def test_objectives_and_limits_are_the_drivers():
    study = parsed({**CALLING, "limits": ["wait_s <= 3"]})

    assert study.objectives == ["wait_s", "calls_per_agent", "wait_cv"]
    assert refusal_of({**CALLING, "objectives": ["p95_latency_ms"]}) == [
        "objectives: ['p95_latency_ms']: must name each of wait_s, calls_per_agent, wait_cv once"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"limits": ["p95_latency_ms <= 50"]},
        {"confirmation": {**OF_TUNE["confirmation"], "choose_by": {"lexicographic": ["throughput_mib_s"]}}},
        {"confirmation": {**OF_TUNE["confirmation"], "choose_by": {"weights": {"throughput_cv": 1.0}}}},
    ],
)
def test_another_drivers_objective_is_refused_wherever_a_study_names_one(change: dict[str, Any]):
    [refusal] = refusal_of({**CALLING, **change})
    assert "is not an objective of the driver calls; its objectives are wait_s, calls_per_agent, wait_cv" in refusal


def test_constraints_may_name_only_the_variables_that_the_drivers_cases_have():
    size = "record.size > 6000"

    assert tune_study(parsed({**TUNING, "constraints": ["linger.ms < record.size"]})).variables("1024") == {
        "record.size": 1024
    }
    assert (
        "record.size is neither a factor of this study nor callers" in refusal_of({**CALLING, "constraints": [size]})[0]
    )


def test_cases_are_named_in_the_drivers_words_and_keys_of_another_driver_are_refused_by_name():
    assert with_overrides(parsed(CALLING), cases=["evening"]).cases == ["evening"]
    with pytest.raises(BadInputError, match="study example: driver: 'calls': must be producer here"):
        ProducerStudy.of(parsed(CALLING))
    with pytest.raises(BadInputError, match="study example: kind: 'compare': must be tune here"):
        tune_study(parsed(COMPARING))


def test_a_case_that_gives_no_numbers_is_a_category_to_the_models():
    study = tune_study(parsed(CALLING))
    rows = pd.DataFrame({"agents": [2, 5, 2], "case": ["evening", "morning", "unknown"]})
    encoding = feature_encoding(study, rows)

    assert encoding.features == encoding.inputs() == ["agents", "case"]
    assert encoding.levels == {"case": ["morning", "evening"]}
    assert encoding.feature_types() == ["q", "c"]
    np.testing.assert_array_equal(encoding.encode(rows)["case"], [1, 0, np.nan])
    np.testing.assert_array_equal(inputs(study, rows)[:, 1:], [[0, 1], [1, 0], [0, 0]])
