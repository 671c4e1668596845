from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from kafka_pareto.decision.decision import Decision
from kafka_pareto.exit_codes import EXIT_OF_OUTCOME
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.outcome import junit_xml, outcome_of
from kafka_pareto.report.reasons import headline_of
from tests.unit.deciding import FAST, decided, study_of

pytestmark = pytest.mark.fast

CHANGED = decided(50, 30)
ALIKE = decided(100, 20)
HARMED = decided(200, 40)
UNTOLD = decided(100, 20, spread=0.4)
UNPICKED = decided(0, 0, pick=study_of().baseline_configuration())


def cards_of(*decisions: Decision) -> Cards:
    return Cards.model_construct(schema_version=4, study="quick", campaign="c<1>", cards=[*decisions], contexts=[])


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [(CHANGED, "changed"), (ALIKE, "kept"), (HARMED, "kept"), (UNTOLD, "undecided"), (UNPICKED, "kept")],
)
def test_a_case_has_changed_was_kept_or_is_undecided(decision: Decision, outcome: str) -> None:
    assert decision.outcome == outcome
    assert outcome_of(cards_of(decision)).outcome == outcome


def test_no_difference_that_matters_is_a_decision_and_says_so() -> None:
    assert headline_of(ALIKE) == "KEEP THE BASELINE: no relevant difference"
    assert headline_of(UNTOLD) == "KEEP THE BASELINE: no gain shown"


def test_a_campaign_is_undecided_if_a_case_is_and_else_changed_if_a_case_is() -> None:
    assert outcome_of(cards_of(CHANGED, UNTOLD, ALIKE)).outcome == "undecided"
    assert outcome_of(cards_of(ALIKE, CHANGED)).outcome == "changed"
    assert len(set(EXIT_OF_OUTCOME.values())) == 3


def test_json_has_everything_a_script_needs_to_configure_a_producer() -> None:
    found = json.loads(outcome_of(cards_of(CHANGED)).model_dump_json())
    [case] = found["cases"]
    assert case["properties"] == {**FAST, "enable.idempotence": True}
    p95 = next(each for each in case["changes"] if each["objective"] == "p95_latency_ms")
    assert p95["resolution"] == "better"
    assert p95["change_fraction"] == pytest.approx(-0.5, abs=0.001)
    assert p95["change_low_fraction"] < p95["change_fraction"] < p95["change_high_fraction"]


def test_junit_has_a_test_for_each_case_and_skips_undecided_ones() -> None:
    suite = ET.fromstring(junit_xml(outcome_of(cards_of(CHANGED, UNTOLD))))  # noqa: S314  (our own)
    assert suite.attrib["name"] == "quick.c<1>"
    assert (suite.attrib["tests"], suite.attrib["skipped"], suite.attrib["failures"]) == ("2", "1", "0")
    assert [test.find("skipped") is None for test in suite.iter("testcase")] == [True, False]
    assert "CHANGE RECOMMENDED" in (suite.find("testcase/system-out").text or "")  # type: ignore[union-attr]
