"""Artifacts: only written values are read back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.tables import (
    decode_table,
    encode_table,
    rejected_columns,
    repetition_columns,
    repetitions_frame,
    table_schema,
)
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.errors import ArtifactError
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.study import Study
from tests.recorded import paper_study, recorded_repetitions

pytestmark = pytest.mark.fast

KEYS = CampaignKeys("paper", "c1")
KEY = "paper/c1/table.parquet"
REPETITION_COLUMNS, REJECTED_COLUMNS = repetition_columns(PRODUCER), rejected_columns(PRODUCER)


@pytest.fixture(name="study")
def study_() -> Study:
    return paper_study()


@pytest.fixture(name="frame")
def frame_(study: Study) -> pd.DataFrame:
    return repetitions_frame(recorded_repetitions(("8192",), configurations=2, blocks=2), study)


@pytest.mark.parametrize(
    ("key", "path"),
    [
        (KEYS.frozen_study(), "study.yaml"),
        (KEYS.design(), "round=00/01_design.parquet"),
        (KEYS.prior(), "round=00/01_prior.json"),
        (KEYS.prior_trials(), "round=00/01_prior_trials.parquet"),
        (KEYS.measurements("8192"), "round=00/02_measurements/8192/"),
        (KEYS.trials(12), "round=12/03_trials.parquet"),
        (KEYS.validation("rejected.parquet"), "round=00/03_validation/rejected.parquet"),
        (KEYS.surrogates("scores.parquet"), "round=00/04_surrogates/scores.parquet"),
        (KEYS.front("8192"), "round=00/05_front/8192.parquet"),
        (KEYS.confirmation("8192", "decision.json"), "06_confirmation/8192/decision.json"),
        (KEYS.report("report.html"), "07_report/report.html"),
    ],
)
def test_an_artifact_has_its_key(key: str, path: str) -> None:
    assert key == f"paper/c1/{path}"


def test_one_record_sizes_repetitions_are_never_listed_as_anothers() -> None:
    assert not KEYS.measurements("81920").startswith(KEYS.measurements("8192"))
    assert not KEYS.sizing("8192").startswith(KEYS.measurements("8192"))


def test_a_table_comes_back_in_its_own_order_whatever_the_frames(frame: pd.DataFrame, study: Study) -> None:
    content = encode_table(frame[frame.columns[::-1]], REPETITION_COLUMNS, study)
    pd.testing.assert_frame_equal(decode_table(content, KEY, REPETITION_COLUMNS, study), frame)


@pytest.mark.slow
def test_a_count_that_is_missing_comes_back_as_missing_and_not_as_a_number(study: Study) -> None:
    rows = recorded_repetitions(("8192",), configurations=1, blocks=2)
    frame = repetitions_frame([rows[0].with_values({"records_sent": None}), *rows[1:]], study)
    back = decode_table(encode_table(frame, REPETITION_COLUMNS, study), KEY, REPETITION_COLUMNS, study)
    assert back.records_sent.isna().tolist() == [True] + [False] * (len(rows) - 1)
    assert back.records_sent.tolist()[1:] == [1000] * (len(rows) - 1)


def test_an_empty_table_keeps_its_schema_with_each_factor_in_the_type_that_the_study_gives_it(study: Study) -> None:
    empty = repetitions_frame([], study).assign(rejected_because=pd.Series(dtype="str"))
    content = encode_table(empty, REJECTED_COLUMNS, study)
    schema = pq.read_schema(io.BytesIO(content))
    assert decode_table(content, KEY, REJECTED_COLUMNS, study).empty
    assert schema.equals(table_schema(REJECTED_COLUMNS, study))
    assert [str(schema.field(name).type) for name in study.factors] == ["int64", "int64", "string", "string"]


def test_a_frame_with_other_columns_or_types_is_not_written(frame: pd.DataFrame, study: Study) -> None:
    for other, rule in (
        (frame.drop(columns="latency_p95_ms"), "they differ in latency_p95_ms"),
        (frame.assign(surplus=1), "they differ in surplus"),
        (frame.assign(block="zero"), "values do not match its schema"),
    ):
        with pytest.raises(ArtifactError, match=rule):
            encode_table(other, REPETITION_COLUMNS, study)


def test_a_damaged_table_is_named_by_its_key() -> None:
    with pytest.raises(ArtifactError, match=f"{KEY}: is not a readable Parquet file"):
        decode_table(b"PAR1 no more", KEY, REPETITION_COLUMNS)


@pytest.mark.parametrize("version", [3, 5])
def test_a_table_of_another_schema_version_is_refused_with_the_one_that_is_read(
    frame: pd.DataFrame, study: Study, version: int
) -> None:
    content = encode_table(frame, REPETITION_COLUMNS, study)
    table = pq.read_table(io.BytesIO(content)).replace_schema_metadata(
        {b"kafka_pareto.schema_version": str(version).encode()}
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    with pytest.raises(ArtifactError, match=f"{KEY}: schema_version {version}: this release reads version 4;"):
        decode_table(buffer.getvalue(), KEY, REPETITION_COLUMNS, study)


def test_a_table_that_lacks_factors_or_a_required_quantity_is_refused_with_their_names(
    frame: pd.DataFrame, study: Study
) -> None:
    without_factors = encode_table(frame[list(REPETITION_COLUMNS)], REPETITION_COLUMNS)
    of_then = {name: kind for name, kind in REPETITION_COLUMNS.items() if name != "window"}
    without_window = encode_table(frame.drop(columns="window"), of_then, study)
    for stored, names in ((without_factors, r"batch\.size, linger\.ms, acks, compression"), (without_window, "window")):
        with pytest.raises(ArtifactError, match=rf"{KEY}: has no column {names}"):
            decode_table(stored, KEY, REPETITION_COLUMNS, study)


def test_a_table_without_a_quantity_that_was_declared_later_and_may_be_missing_is_read_with_nulls(
    frame: pd.DataFrame, study: Study
) -> None:
    added = {"unthrottled_latency_p95_ms", "record_retries"}
    of_then = {name: kind for name, kind in REPETITION_COLUMNS.items() if name not in added}
    stored = encode_table(frame.drop(columns=list(added)), of_then, study)
    back = decode_table(stored, KEY, REPETITION_COLUMNS, study)

    assert list(back.columns) == list(table_schema(REPETITION_COLUMNS, study).names)
    assert back[sorted(added)].isna().all(axis=None)


@pytest.mark.parametrize("repetition", recorded_repetitions(("1024",), configurations=1, blocks=1))
def test_a_repetition_comes_back_as_it_was_written(repetition: Repetition) -> None:
    back = decode_record(repetition.model_dump_json().encode(), "key", Repetition)
    assert back == repetition
    assert {name: type(value) for name, value in back.configuration.items()} == {
        "batch.size": int,
        "linger.ms": int,
        "acks": str,
        "compression.type": str,
    }


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        (b'"schema_version":4', b'"schema_version":5', "schema_version 5: this release reads version 4; start a new"),
        (b'"outcome":"valid"', b'"outcome":"fine"', "outcome: 'fine'"),
        (b'"attempts":1', b'"attempts":"once"', "attempts: 'once'"),
        (b'"attempts":1', b'"attempts":1,"surplus":1', "surplus: 1: Extra inputs are not permitted"),
        (b"}", b"", "Invalid JSON"),
        (b'{"schema', b"x" * 50_000, "is not readable JSON: "),
    ],
)
def test_a_record_that_breaks_its_schema_is_refused_in_short_with_key_field_and_value(
    written: bytes, instead: bytes, said: str
) -> None:
    content = recorded_repetitions(configurations=0, blocks=1)[0].model_dump_json().encode()
    assert written in content
    with pytest.raises(ArtifactError) as refusal:
        decode_record(content.replace(written, instead), "paper/c1/r.json", Repetition)
    assert str(refusal.value).startswith("paper/c1/r.json: ")
    assert said in str(refusal.value)
    assert len(str(refusal.value)) < 400


def read_back(folder: Path, **change: Any) -> Repetition:
    content = recorded_repetitions(configurations=0, blocks=1)[0].model_dump(mode="json")
    content["quantities"] = {name: value for name, value in (content["quantities"] | change).items() if value != ...}
    store = FolderStore(folder)
    store.put("paper/c1/r.json", json.dumps(content).encode())
    return Campaign(paper_study(), KEYS, store).read_repetition("paper/c1/r.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"surplus": 1.0}, "quantities: surplus: is not a quantity of the driver producer"),
        ({"latency_p95_ms": "fast"}, "quantities: latency_p95_ms: 'fast': must be of type float"),
        ({"window": ...}, "quantities: window: is missing"),
    ],
)
def test_a_repetition_with_other_quantities_than_its_drivers_is_refused_with_its_key(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    with pytest.raises(ArtifactError, match=f"paper/c1/r.json: {told}"):
        read_back(tmp_path, **change)


def test_a_repetition_stored_before_a_quantity_was_declared_has_none_for_it(tmp_path: Path) -> None:
    back = read_back(tmp_path, unthrottled_latency_p95_ms=...)
    assert back == recorded_repetitions(configurations=0, blocks=1)[0]
    assert back.number("unthrottled_latency_p95_ms") is None


def test_values_are_changed_in_the_head_and_in_the_quantities_by_name_and_nowhere_else() -> None:
    repetition = recorded_repetitions(configurations=0, blocks=1)[0]
    changed = repetition.with_values({"outcome": "failed", "latency_p95_ms": 7.5})
    assert (changed.outcome, changed.number("latency_p95_ms")) == ("failed", 7.5)
    assert repetition.outcome == "valid"
    assert (
        changed.with_values({"outcome": "valid", "latency_p95_ms": repetition.number("latency_p95_ms")}) == repetition
    )
    with pytest.raises(KeyError, match="latency_p95 is not a value of"):
        repetition.with_values({"latency_p95": 7.5})


def test_a_manifest_is_one_line() -> None:
    manifest = Manifest(step="train", study="paper", campaign="c1", cases=["1024"], artifacts=["a\nb"], counts={"n": 1})
    assert "\n" not in manifest.model_dump_json()
