"""Reads published advice with its source, and the part of it that a study measures."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from kafka_pareto.drivers.log_pipeline.tune import TuneLogPipeline
from kafka_pareto.errors import BadInputError, StudyError
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.settings import load_settings
from kafka_pareto.study.advice import Advice, configuration_advised, load_advice
from kafka_pareto.study.study_file import load_study
from tests.unit.measuring import CASE, quick

pytestmark = pytest.mark.fast

SHIPPED = load_settings().advice
GOOD = """
name: own
title: Our own guide
meant_for: throughput
source: https://example.org/guide
read_on: 2026-11-23
properties: {batch.size: 65536, linger.ms: 10, acks: "1", compression.type: lz4}
"""


def advice_of(**properties: PropertyValue) -> Advice:
    return Advice(
        name="own",
        title="Our own guide",
        meant_for="balance",
        source="a book",
        read_on=date(2026, 11, 23),
        properties=properties,
    )


def test_a_dozen_pieces_of_advice_are_shipped_each_with_its_source_and_a_user_adds_a_file(tmp_path: Path) -> None:
    shipped = load_advice(SHIPPED)
    assert len(shipped) >= 12
    assert [each.name for each in shipped] == sorted(path.stem for path in SHIPPED.glob("*.yaml"))
    assert all(len(each.source) > 20 and each.title for each in shipped)
    assert {each.meant_for for each in shipped} == {"throughput", "latency", "balance"}
    (tmp_path / "own.yaml").write_text(GOOD)
    (own,) = load_advice(tmp_path)
    assert own.properties == {"batch.size": 65536, "linger.ms": 10, "acks": "1", "compression.type": "lz4"}


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("batch.size", "batch.sise", r"own\.yaml.*properties.*batch\.sise"),
        ("meant_for: throughput", "meant_for: fun", r"own\.yaml.*meant_for.*fun"),
        ("title:", "titel:", r"titel.*is not a key of this file"),
        ("name: own", "name: Our Own", r"own\.yaml.*name"),
    ],
)
def test_a_defect_names_file_key_and_value(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace(right, wrong))
    with pytest.raises(StudyError, match=f"(?s){said}"):
        load_advice(tmp_path)


def test_a_folder_of_advice_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"KAFKA_PARETO_ADVICE=.*/missing: is not a folder"):
        load_advice(tmp_path / "missing")


def test_durability_settings_of_advice_are_ignored() -> None:
    found = configuration_advised(quick(), CASE, advice_of(**{"batch.size": 65536, "acks": "1"}))
    assert found == {**quick().baseline_configuration(), "batch.size": 65536}


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"batch.size": 65536, "buffer.memory": 1 << 28}, f"the study does not vary buffer.memory={1 << 28}"),
        ({"batch.size": 65537}, "it is outside the study's values"),
        ({"batch.size": 1024}, "it breaks the study's rules"),
        ({"batch.size": 16384, "linger.ms": 5}, "it is the baseline"),
    ],
)
def test_excluded_advice_has_a_reason(properties: dict[str, PropertyValue], why: str) -> None:
    assert configuration_advised(quick(), CASE, advice_of(**properties)) == why


def test_advice_needs_a_drawn_design_and_a_comparison_with_advice_needs_advice() -> None:
    always = {"compare_advice": "always"}
    with pytest.raises(StudyError, match=r"advice needs design\.method: latin_hypercube"):
        quick(advice=True, design={"method": "one_at_a_time", "configurations": None})
    with pytest.raises(StudyError, match=r"confirmation\.compare_advice always needs advice: true"):
        quick(confirmation=always)
    assert quick(confirmation=always, advice=True).confirmation.compare_advice == "always"
    assert quick(advice=True).confirmation.compare_advice == "if_better"


def test_the_tuned_log_pipeline_can_measure_the_published_hybrid() -> None:
    study = load_study(load_settings().studies / "log_pipeline_tuned.yaml")
    (hybrid,) = [each for each in load_advice(SHIPPED) if each.driver == "log_pipeline"]
    assert isinstance(study, TuneLogPipeline)
    found = configuration_advised(study, "pipeline", hybrid)
    assert isinstance(found, dict)
    told = study.all_settings(found)
    assert {name: told[name] for name in hybrid.properties} == hybrid.properties
    assert (told["scan_frequency_ms"], told["close_inactive_s"]) == (10, 60)
    assert study.confirmation.compare_advice == "always"
