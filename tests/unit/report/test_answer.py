"""The answer of a tuning campaign, and the line of a single case."""

from __future__ import annotations

import pytest

from kafka_pareto.decision.decision import Decision
from kafka_pareto.report.answer import answer_lines, decision_line
from tests.unit.deciding import decided, study_of
from tests.unit.made_gains import made_gain

pytestmark = pytest.mark.fast

DRIVER = study_of().declaration
CHANGED = decided(50, 30)
UNTOLD = decided(100, 20, spread=0.4)
UNPICKED = decided(0, 0, pick=study_of().baseline_configuration())


@pytest.mark.parametrize(
    ("decision", "line"),
    [
        (CHANGED, "change, throughput +50 % [+44, +57], p95 latency -50 % [-52, -48]"),
        (UNTOLD, "keep (pick: throughput +1 % [-31, +47], p95 latency -8 % [-43, +46])"),
        (UNPICKED, "KEEP THE BASELINE: no gain shown"),
    ],
)
def test_a_decided_case_is_one_line_with_the_answers_words_and_figures(decision: Decision, line: str) -> None:
    assert decision_line(decision, DRIVER) == line


@pytest.mark.parametrize("decision", [CHANGED, UNTOLD])
def test_the_line_of_a_case_does_not_differ_from_its_row(decision: Decision) -> None:
    row = answer_lines([decision], DRIVER)[1]
    figures = decision_line(decision, DRIVER).replace(" %", "").rstrip(")").partition("throughput ")[2]
    for part in figures.split(", p95 latency "):
        assert part in row


def test_a_change_without_an_interval_is_left_out_of_the_line() -> None:
    gains = [made_gain(None, None, 0.5), made_gain(-0.3, -0.1, -0.2, "p95_latency_ms")]
    found = CHANGED.model_copy(update={"gains": gains, "verdict": "ask_a_person"})
    assert decision_line(found, DRIVER) == "approval, p95 latency -20 % [-30, -10]"


def test_an_added_objective_has_a_place_in_both() -> None:
    stored = made_gain(-0.4, -0.3, -0.35, "stored_bytes_per_record")
    found = CHANGED.model_copy(update={"gains": [*CHANGED.gains, stored]})
    assert decision_line(found, DRIVER).endswith(", stored size -35 % [-40, -30]")
    lines = answer_lines([found], DRIVER)
    assert any(line.endswith(": stored size [B] 1.00 → 0.650, -35 [-40, -30] %") for line in lines), lines
