"""The kept records of causes that were made on purpose, judged by today's rules: docs/doctor.md and its tables."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from benchmarks.planted import CAUSES, Cause
from benchmarks.planted_causes import Planted, read_planted
from benchmarks.planted_table import causes_in, causes_of_each, how_table, limits_table, symptoms_table
from kafka_pareto.bottleneck.words import LABELS, verdict_text
from kafka_pareto.doctor.symptoms import CauseCode

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
TABLES = (ROOT / "benchmarks" / "tables.md").read_text(encoding="utf-8")
SYMPTOMS_CAUSES = set(get_args(CauseCode))


@pytest.fixture(scope="module")
def planted() -> list[Planted]:
    return read_planted()


def loads_of(cause: Cause, planted: list[Planted]) -> list[Planted]:
    return [each for each in planted if each.cause == cause.name]


# What the page says was made and not found in all loads.
MISSED = {"flushes", "small_batches"}


@pytest.mark.parametrize("cause", [cause for cause in CAUSES if cause.name not in MISSED], ids=lambda cause: cause.name)
def test_a_cause_that_was_made_is_found(cause: Cause, planted: list[Planted]) -> None:
    loads = loads_of(cause, planted)
    assert loads
    for load in loads:
        if cause.limit:
            assert load.verdict().code == cause.limit
            assert "unknown" not in verdict_text(load.verdict().code, load.verdict().numbers)
        assert set(cause.symptoms) <= set(causes_in(load))
        assert max(map(len, causes_of_each(load)), default=0) <= 2


@pytest.mark.parametrize("name", sorted(MISSED))
def test_causes_listed_as_missed_on_the_page_are_missed(name: str, planted: list[Planted]) -> None:
    (cause,) = [each for each in CAUSES if each.name == name]
    assert any(
        load.verdict().code != (cause.limit or load.verdict().code) or not set(cause.symptoms) <= set(causes_in(load))
        for load in loads_of(cause, planted)
    )


def test_every_limit_and_every_cause_of_a_symptom_was_made_but_for_those_that_the_page_names() -> None:
    made = {cause.limit for cause in CAUSES} | {symptom for cause in CAUSES for symptom in cause.symptoms}
    missing = ({code for code in LABELS if code} | SYMPTOMS_CAUSES) - made
    assert all(f"`{code}` could not be injected" in PAGE for code in missing), missing


def test_a_consumer_at_ease_shows_no_cause(planted: list[Planted]) -> None:
    at_ease = [each for each in planted if each.cause == "at_ease"]
    assert at_ease
    assert not any(causes_in(each) for each in at_ease)


def test_the_tables_are_those_of_the_records(planted: list[Planted]) -> None:
    for table in (how_table, limits_table, symptoms_table):
        assert table(planted) in TABLES
