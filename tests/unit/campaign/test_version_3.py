"""Artifacts of schema version 3, in which a case was a record size and bore its name, are read as today's."""

from __future__ import annotations

import io
import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_pareto.campaign.records import Prior, Proposal, Repetition, Stop
from kafka_pareto.campaign.tables import SCORE_COLUMNS, TRIAL_COLUMNS, decode_table, encode_table, table_schema
from kafka_pareto.decision.choice import MissedLimit
from kafka_pareto.decision.decision import Decision
from kafka_pareto.drift.check_records import Check
from kafka_pareto.errors import ArtifactError
from kafka_pareto.report.card_context import move_sentences, sentinel_sentences, stop_text
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.reasons import missed_limits_text, reason_of
from kafka_pareto.rollout.approvals import Answer
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.record import Record, decode_record
from kafka_pareto.study.objectives import Limit
from tests.golden.recompute import RECORDED
from tests.recorded import paper_study

pytestmark = pytest.mark.fast

STORE = FolderStore(RECORDED)


def stored(key: str) -> bytes:
    """An artifact as release 0.1.0 wrote it."""
    content = STORE.get(key)
    assert json.loads(content)["schema_version"] == 3
    return content


def test_a_repetition_names_its_case() -> None:
    key = next(iter(STORE.keys("golden/c1/round=00/02_measurements/8192/")))
    found = decode_record(stored(key), key, Repetition)
    assert (found.case, found.schema_version) == ("8192", 4)
    assert found.number("latency_p95_ms") == json.loads(stored(key))["latency_p95_ms"]


def test_what_a_proposal_says_of_each_record_size_is_of_its_case() -> None:
    key = "golden/c1/round=01/01_proposal.json"
    found = decode_record(stored(key), key, Proposal)
    assert [each.case for each in found.cases] == ["1024", "8192"]
    assert found.going_on() == ["1024", "8192"]


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        (
            "rounds 1 and 2 raised the measured hypervolume by 0.4% together, "
            "less than rounds.least_rise_fraction (1.0%)",
            Stop(code="rise_too_small", rise_fraction=0.004, least_rise_fraction=0.01),
        ),
        ("round 2 is the study's last (rounds.maximum)", Stop(code="last_round")),
        ("no configuration that was not measured is expected to add anything", Stop(code="nothing_left")),
    ],
)
def test_why_rounds_stopped_was_a_sentence_and_is_said_the_same(text: str, stop: Stop) -> None:
    [_, case] = decode_record(_stopped_because(text), "some/key", Proposal).cases
    assert case.stopped_because == stop
    assert stop_text(stop, case.rounds_measured) == text


def test_a_case_that_stopped_in_version_3_does_not_go_on() -> None:
    found = decode_record(_stopped_because("round 2 is the study's last (rounds.maximum)"), "some/key", Proposal)
    assert found.going_on() == ["1024"]


def test_a_reason_to_stop_that_no_release_wrote_is_refused() -> None:
    with pytest.raises(ArtifactError, match=r"some/key: .*stopped_because: 'enough': .*no reason to stop of version 3"):
        decode_record(_stopped_because("enough"), "some/key", Proposal)


def test_cards_keep_why_rounds_stopped() -> None:
    key = "golden/c1/07_report/cards.json"
    then = [context["rounds"]["stopped_because"] for context in json.loads(stored(key))["contexts"]]
    now = [context.rounds for context in decode_record(stored(key), key, Cards).contexts]
    assert [
        stop_text(each.stopped_because, each.rounds_measured) for each in now if each and each.stopped_because
    ] == then


def _stopped_because(text: str) -> bytes:
    """The recorded decision on round 2, as if its second case had stopped after two rounds."""
    then = json.loads(stored("golden/c1/round=02/01_proposal.json"))
    then["record_sizes"][1] |= {"stopped_because": text, "measured_hypervolume": [1.0, 1.001, 1.004]}
    return json.dumps(then).encode()


def test_the_ages_of_a_prior_are_by_case() -> None:
    [key] = [key for key in STORE.keys("golden/c2/") if key.endswith("01_prior.json")]
    ages = [each.age_days for each in decode_record(stored(key), key, Prior).campaigns]
    assert [set(each) for each in ages] == [{"1024", "8192"}]


def test_records_within_records_are_read() -> None:
    key = "golden/c1/07_report/cards.json"
    cards = decode_record(stored(key), key, Cards)
    assert [card.case for card in cards.cards] == ["1024", "8192"]
    assert [context.case for context in cards.contexts] == ["1024", "8192"]
    assert {card.schema_version for card in cards.cards} == {4}

    key = "_checks/golden/check1/08_check.json"
    assert [each.case for each in decode_record(stored(key), key, Check).cases] == ["1024", "8192"]


def test_the_sentences_about_the_sentinel_follow_from_its_numbers() -> None:
    key = "golden/c1/07_report/cards.json"
    then = [context["sentinel"] for context in json.loads(stored(key))["contexts"]]
    now = [context.sentinel for context in decode_record(stored(key), key, Cards).contexts]
    in_todays_words = [[said.replace("settings in use", "baseline") for said in each["sentences"]] for each in then]
    assert [sentinel_sentences(each) for each in now] == in_todays_words
    assert [move_sentences(each) for each in now] == [each["moves"] for each in then]
    assert [each.moved for each in now] == [each["moved"] for each in then]


def test_an_answer_is_read() -> None:
    [key, *_] = [key for key in STORE.keys("golden/c1/08_rollout/") if key.endswith(".json")]
    assert decode_record(stored(key), key, Answer).schema_version == 4


def test_a_table_names_its_cases() -> None:
    study = paper_study()
    schema = table_schema(TRIAL_COLUMNS, study)
    then = pa.schema(
        [pa.field("record_size_bytes", pa.int64()) if field.name == "case" else field for field in schema],
        metadata={b"kafka_pareto.schema_version": b"3"},
    )
    row: dict[str, Any] = dict.fromkeys(then.names) | {"record_size_bytes": 8192}
    found = decode_table(_parquet(pa.Table.from_pylist([row], schema=then)), "trials", TRIAL_COLUMNS, study)
    assert list(found.columns) == schema.names
    assert found.case.tolist() == ["8192"]


def test_scores_of_all_record_sizes_together_have_no_case() -> None:
    [key] = STORE.keys("golden/c1/round=00/04_surrogates/scores.parquet")
    assert "record_size_bytes" in pq.read_schema(io.BytesIO(STORE.get(key))).names
    found = decode_table(STORE.get(key), key, SCORE_COLUMNS)
    assert set(found.case.dropna()) == {"1024", "8192"}
    assert found.case.isna().any()
    again = decode_table(encode_table(found, SCORE_COLUMNS), key, SCORE_COLUMNS)
    pd.testing.assert_frame_equal(again, found)


@pytest.mark.parametrize("version", [2, 5])
def test_a_version_that_is_not_read_is_refused_with_those_that_are(version: int) -> None:
    class Counted(Record):
        case: str

    content = json.dumps({"schema_version": version, "record_size_bytes": 8192, "case": "8192"}).encode()
    with pytest.raises(ArtifactError, match=f"some/key: schema_version {version}: this release reads versions 3 and 4"):
        decode_record(content, "some/key", Counted)


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_a_decision_names_its_pick_and_holds_no_sentences() -> None:
    key = "golden/c1/06_confirmation/8192/decision.json"
    found, then = decode_record(stored(key), key, Decision), json.loads(stored(key))
    assert found.pick_configuration_id == then["tentative_configuration_id"] == "c0df16254f3"
    assert found.pick_properties == then["tentative_properties"]
    assert reason_of(found) == then["reasons"][0]
    assert not {"reasons", "given_up"} & set(found.model_dump())


def test_a_limit_that_was_missed_keeps_its_value() -> None:
    key = "golden/c1/06_confirmation/8192/decision.json"
    then = json.loads(stored(key))
    texts = ["p95_latency_ms <= 20 (29.2 ms, 45.8% beyond)"]
    of_the_pick = decode_record(_changed(then, limits_missed=texts), key, Decision)
    [p95] = [gain for gain in of_the_pick.gains if gain.objective == "p95_latency_ms"]
    assert of_the_pick.limits_missed == [_missed("p95_latency_ms <= 20", p95.candidate_value)]

    texts = ["throughput_mib_s >= 2000 (1,234 MiB/s, 38.3% beyond)", "latency_cv <= 0.1 (not known)"]
    of_the_nearest = decode_record(_changed(then, limits_missed=texts, gains=[]), key, Decision)
    assert of_the_nearest.limits_missed == [
        _missed("throughput_mib_s >= 2000", 1234.0),
        _missed("latency_cv <= 0.1", None),
    ]
    assert missed_limits_text(of_the_nearest.limits_missed) == " and ".join(texts)


def _changed(record: dict[str, Any], **changes: object) -> bytes:
    return json.dumps({**record, **changes}).encode()


def _missed(limit: str, value: float | None) -> MissedLimit:
    return MissedLimit(limit=Limit.parse(limit), value=value)
