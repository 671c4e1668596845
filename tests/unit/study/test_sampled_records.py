"""Sampled records: their file, and the studies that send them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_pareto.drivers.producer.tune import TuneProducer
from kafka_pareto.errors import StudyError
from kafka_pareto.study.sampled_records import mean_record_bytes
from kafka_pareto.study.study_file import dump_study, load_study, parse_study
from tests.recorded import STUDIES

pytestmark = pytest.mark.fast

# 4 + 5 B, 3 + 0 B (a tombstone), 0 + 3 B with 2 + 1 B of a header; line separators within text do not end a line.
RECORDS = (
    '{"timestamp_ms": 7, "key": "key1", "value": "a\\u2028b"}\n'
    '{"timestamp_ms": 8, "key": "key"}\n'
    '{"value_base64": "//8A", "headers": [{"name": "id", "value": "7"}]}\n'
)
MEAN = 6


def sampling(folder: Path, text: str = RECORDS, size: int = MEAN, **changes: Any) -> Path:
    """Write the shipped study `steady` with these records."""
    content: dict[str, Any] = yaml.safe_load((STUDIES / "steady.yaml").read_text())
    content |= {"name": "sampled", "record_sizes_bytes": [size]}
    content["workload"] |= {"payload": {"sample": "orders.jsonl"}} | changes.pop("workload", {})
    (folder / "orders.jsonl").write_text(text)
    file = folder / "sampled.yaml"
    file.write_text(yaml.safe_dump(content | changes))
    return file


def test_keys_values_and_headers_count_towards_the_mean() -> None:
    assert mean_record_bytes(RECORDS) == MEAN == round((4 + 5 + 3 + 3 + 2 + 1) / 3)
    assert mean_record_bytes("{}\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no records"),
        ("{}\n{\n", "line 2: Invalid JSON"),
        ('{"value": "a", "value_base64": "YQ=="}\n', "line 1: give one of value and value_base64"),
        ('{"key": "a", "key_base64": "YQ=="}\n', "line 1: give one of key and key_base64"),
        ('{"value": 5}\n', "line 1: value: Input should be a valid string"),
        ('{"payload": "a"}\n', "line 1: payload: Extra inputs are not permitted"),
        ('{}\n{"value": "' + 1_000_001 * "a" + '"}\n', "line 2: a record must not be larger than 1000000 bytes"),
    ],
)
def test_a_line_that_is_no_record_is_named_with_its_rule(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        mean_record_bytes(text)


def test_a_study_sends_the_sample_with_its_producers_and_arrivals(tmp_path: Path) -> None:
    study = load_study(sampling(tmp_path, workload={"producers": 4, "arrival": "recorded"}))

    assert isinstance(study, TuneProducer)
    load = study.load_of(str(MEAN), {})
    assert (load.record_size_bytes, load.is_sampled, load.producers, load.arrival) == (MEAN, True, 4, "recorded")
    assert study.text_file() == "orders.jsonl"
    assert parse_study(dump_study(study), "again") == study


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 7}, r"orders\.jsonl: a record has 6 bytes on average, so record_sizes_bytes must be \[6\]"),
        ({"text": "no record\n"}, r"workload\.payload\.sample: .*orders\.jsonl: line 1: Invalid JSON"),
        ({"workload": {"keys": 5}}, r"workload\.keys: must be 0 with workload\.payload\.sample"),
        ({"record_sizes_bytes": [5, 6]}, r"record_sizes_bytes: must be one with workload\.payload\.sample"),
        ({"workload": {"payload": "random", "arrival": "recorded"}}, r"workload\.arrival recorded needs workload\.pay"),
        ({"workload": {"payload": {"sample": "/etc/x"}}}, r"payload\.sample: .*must lie in the study's folder"),
        ({"workload": {"producers": 65}}, r"workload\.producers"),
    ],
)
def test_a_sample_that_does_not_fit_the_study_is_refused(tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        load_study(sampling(tmp_path, **changes))


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"payload": {"sample": "orders.jsonl"}}, r"workload\.payload\.sample needs protocol\.load_tool"),
        (
            {"producers": 2},
            r"workload\.producers, workload\.arrival and workload\.sends need protocol\.load_tool load_generator",
        ),
        ({"arrival": "poisson"}, r"workload\.arrival and workload\.sends need"),
        ({"sends": "synchronous"}, r"workload\.arrival and workload\.sends need"),
    ],
)
def test_kafkas_own_tool_sends_neither_samples_nor_from_several_producers(workload: Any, message: str) -> None:
    content: dict[str, Any] = yaml.safe_load((STUDIES / "cold_burst.yaml").read_text())
    content["workload"] |= workload
    with pytest.raises(StudyError, match=message):
        parse_study(yaml.safe_dump(content), "cold")


@pytest.mark.parametrize("rates", [{}, {"rate_fraction": 0.5, "rate_records_s": 100}])
def test_a_fixed_rate_is_given_one_way(rates: dict[str, float]) -> None:
    content: dict[str, Any] = yaml.safe_load((STUDIES / "steady.yaml").read_text())
    content["protocol"]["paced"] = {"seconds": 2.0, **rates}
    with pytest.raises(StudyError, match=r"protocol\.paced: .*give one of rate_fraction and rate_records_s"):
        parse_study(yaml.safe_dump(content), "steady")
