"""Airflow's refusals of the DAGs' own parameters, as the commands say them."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest
from airflow.sdk import Param
from airflow.sdk.exceptions import ParamValidationError

from kafka_pareto_airflow.forms import active_settings_parameters, comparison_parameters, tune_parameters
from kafka_pareto_embedded.airflow_api.refusals import in_words

pytestmark = pytest.mark.fast


def refusal(parameters: dict[str, Param], name: str, value: Any) -> str:
    """Airflow's own words, as its API answers them and the client reads them."""
    with pytest.raises(ParamValidationError) as refused:
        copy(parameters[name]).resolve(value)
    return " ".join(f"Invalid input for param {name}: {refused.value}".split())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "study",
            "stedy",
            "STUDY=stedy: must be one of broker_lost, cold_burst, librdkafka, log_pipeline_tuned, paper, quick, "
            "steady; "
            "did you mean steady?",
        ),
        ("study", None, "STUDY=None: must be a text"),
        ("campaign", "a b", "CAMPAIGN=a b: must be 1 to 63 letters, digits, '-' or '_'"),
        ("campaign", "../up", "CAMPAIGN=../up: must be 1 to 63 letters, digits, '-' or '_'"),
        ("campaign", "", "CAMPAIGN=: must be 1 to 63 letters, digits, '-' or '_'"),
        ("campaign", "a" * 64, f"CAMPAIGN={'a' * 64}: must be 1 to 63 letters, digits, '-' or '_'"),
        ("record_sizes", [0], "RECORD_SIZES=0: must be at least 1"),
        ("record_sizes", [1024, 1_000_001], "RECORD_SIZES=1024,1000001: must be at most 1000000"),
        ("record_sizes", [1, 1], "RECORD_SIZES=1,1: must not repeat a value"),
        ("record_sizes", "1024", "RECORD_SIZES=1024: must be a list"),
        ("seed", -1, "SEED=-1: must be at least 0"),
        ("seed", 1.5, "SEED=1.5: must be a whole number"),
        ("repetitions", 0, "REPETITIONS=0: must be at least 1"),
        ("cool_down_s", -1, "COOL_DOWN_S=-1: must be at least 0"),
        (
            "baseline",
            "a=1\nsasl.b=x",
            "BASELINE=a=1\nsasl.b=x: must not contain security settings (sasl, ssl, passwords)",
        ),
        (
            "baseline",
            "ssl.key.password=x",
            "BASELINE=ssl.key.password=x: must not contain security settings (sasl, ssl, passwords)",
        ),
        ("baseline", "x" * 10_001, f"BASELINE={'x' * 10_001}: must have at most 10000 characters"),
        ("warm_start", "c1, c2", "WARM_START=c1, c2: must be latest, or ids of campaigns like id,id"),
        ("warm_start", "../up", "WARM_START=../up: must be latest, or ids of campaigns like id,id"),
        ("bootstrap_servers", "localhost", "KAFKA=localhost: must be like host:port,host:port"),
        ("bootstrap_servers", "it's", "KAFKA=it's: must be like host:port,host:port"),
        ("bootstrap_servers", "a:9092; rm -rf /", "KAFKA=a:9092; rm -rf /: must be like host:port,host:port"),
        (
            "client_config",
            "../secret",
            "KAFKA_CONFIG=../secret: must be the name of a file, of letters, digits, '.', '-' or '_'",
        ),
        ("ceiling_mib_s", 0, "CEILING_MIB_S=0: must be above 0"),
        ("ceiling_gib", -1, "CEILING_GIB=-1: must be above 0"),
        ("consent", "yes", "CONSENT=yes: must be yes or no"),
        ("approval", "On instance", "APPROVAL=On instance: must be yes or no"),
    ],
)
def test_a_refused_parameter_of_a_campaign_is_named_as_its_option_with_its_value_and_the_rule(
    name: str, value: Any, said: str
) -> None:
    assert in_words(refusal(tune_parameters(), name, value), {name: value}) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("action", "delete", "ACTION=delete: must be one of accept, ask, roll_back"),
        ("study", "../up", "STUDY=../up: must be lower-case letters, digits, '-' or '_'"),
        ("campaign", "../up", "CAMPAIGN=../up: must be 1 to 63 letters, digits, '-' or '_'"),
        ("case", 1024, "RECORD_SIZE=1024: must be a text"),
        ("case", "../up", "RECORD_SIZE=../up: must be lower-case letters, digits, '-' or '_'"),
        (
            "configuration",
            "c0123456789;",
            "CONFIGURATION=c0123456789;: must be the id of a configuration, c and ten hexadecimal digits",
        ),
        ("reason", "x" * 501, f"REASON={'x' * 501}: must have at most 500 characters"),
        ("from_version", -1, "FROM_VERSION=-1: must be at least 0"),
    ],
)
def test_an_unusable_parameter_of_a_move_is_refused_too(name: str, value: Any, said: str) -> None:
    assert in_words(refusal(active_settings_parameters(), name, value), {name: value}) == said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("factor", "a b", "FACTOR=a b: must be the name of a setting, like linger.ms or bulk_max_size"),
        ("levels", "0, 5", "LEVELS=0, 5: must be like 0,5,20 or none,lz4 or 60%,500/s, without spaces around commas"),
    ],
)
def test_so_is_one_of_a_comparison(name: str, value: Any, said: str) -> None:
    assert in_words(refusal(comparison_parameters(["impact"]), name, value), {name: value}) == said


@pytest.mark.slow
def test_no_parameter_is_refused_in_a_schemas_words() -> None:
    for parameters in (tune_parameters(), active_settings_parameters(), comparison_parameters(["impact"])):
        for name in parameters:
            for value in ("", "\0", -1, 10**9, 1.5, True, [], [-1], [1, 1], {}, "a b", "é" * 1000):
                try:
                    said = in_words(refusal(parameters, name, value), {name: value})
                except pytest.fail.Exception:
                    continue  # this value is one that the parameter takes
                assert ": must " in said, said
                assert "schema" not in said, said
                assert "Failed validating" not in said, said


def test_a_parameter_that_was_not_given_is_named_with_airflows_reason() -> None:
    detail = "Invalid input for param study: No value passed and Param has no default value"
    assert in_words(detail, {}) == "STUDY: No value passed and Param has no default value"


def test_other_details_stay_as_they_are() -> None:
    assert in_words("Dag with dag_id: 'd' has import errors", {"seed": 1}) == "Dag with dag_id: 'd' has import errors"
