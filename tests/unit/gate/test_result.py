from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from kafka_pareto.exit_codes import EXIT_OF_GATE
from kafka_pareto.gate.judgement import JudgedCase, judge
from kafka_pareto.gate.result import ChangedSetting, GateResult, annotation_lines, junit_xml, result_text, verdict_of
from tests.unit.deciding import CASE
from tests.unit.gate.made_gate import measured, study_with

pytestmark = pytest.mark.fast
STUDY = study_with()
HOLDS = judge(STUDY, CASE, measured(STUDY))
BROKEN = judge(STUDY, CASE, measured(STUDY, p95_ms=(100, 130)))
UNDECIDED = judge(STUDY, CASE, measured(STUDY, blocks=1))
LOST = judge(STUDY, CASE, measured(STUDY, outcomes=["records_lost"]))


def result_of(*cases: JudgedCase) -> GateResult:
    return GateResult(
        study="quick",
        gate="g<1>",
        reference="old.properties",
        candidate="new.properties",
        changed=[ChangedSetting(name="linger.ms", reference=5, candidate=20)],
        verdict=verdict_of(list(cases)),
        cases=list(cases),
    )


def test_a_gate_is_broken_if_a_case_is_and_else_undecided_if_a_case_is() -> None:
    assert verdict_of([HOLDS, UNDECIDED, BROKEN]) == "broken"
    assert verdict_of([HOLDS, UNDECIDED]) == "undecided"
    assert verdict_of([HOLDS, HOLDS]) == "holds"
    assert EXIT_OF_GATE == {"holds": 0, "broken": 1, "undecided": 2}


def test_the_text_has_what_changed_each_condition_and_the_verdict_last() -> None:
    lines = result_text(result_of(BROKEN, UNDECIDED)).splitlines()
    assert lines[:3] == [
        "Reference  old.properties",
        "Candidate  new.properties",
        "Changed    linger.ms 5 to 20",
    ]
    assert lines[4] == "8,192 B: broken after 10 blocks"
    assert lines[5].startswith("  broken  p95_latency_ms < 1.1 * reference    1.300 times the reference's (1.")
    assert lines[6].startswith("  holds   throughput_mib_s > 0.9 * reference  1.000 times the reference's (0.")
    assert lines[9].endswith("(no interval after 1 block)")
    assert lines[-1].startswith("Broken: a condition is broken, or the candidate lost or duplicated records, or ")


def test_junit_fails_broken_conditions_and_skips_undecided_ones() -> None:
    suite = ET.fromstring(junit_xml(result_of(BROKEN, UNDECIDED, LOST)))  # noqa: S314  (our own)
    assert suite.attrib == {"name": "quick.g<1>", "tests": "7", "failures": "2", "errors": "0", "skipped": "2"}
    tests = list(suite.iter("testcase"))
    assert tests[0].attrib["name"] == "8,192 B: p95_latency_ms < 1.1 * reference"
    assert "1.300 times" in tests[0].find("failure").attrib["message"]  # type: ignore[union-attr]
    assert tests[-1].find("failure").attrib["message"] == "records were lost or duplicated in 1 repetition"  # type: ignore[union-attr]


def test_annotations_name_the_candidates_file_and_escape_what_a_command_would_read() -> None:
    lines = list(annotation_lines(result_of(BROKEN, UNDECIDED, HOLDS, LOST), Path("conf/a,b:c%.properties")))
    place = "file=conf/a%2Cb%3Ac%25.properties,title=kafka-pareto gate"
    assert [line.split(" ")[0] for line in lines] == [
        "::error",
        "::notice",
        "::warning",
        "::warning",
        "::notice",
        "::notice",
        "::notice",
        "::notice",
        "::error",
    ]
    assert all(place in line and "\n" not in line for line in lines)
    assert lines[-1].endswith("::8,192 B: records were lost or duplicated in 1 repetition")
