"""The result of a gate, as text, JUnit XML and annotations of a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafka_pareto.analysis.plain_table import table_lines
from kafka_pareto.analysis.wording import counted, value_text
from kafka_pareto.gate.judgement import JudgedCase, JudgedCondition, Verdict
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.report.junit import JUnitTest, junit_suite
from kafka_pareto.storage.record import Frozen, Record
from kafka_pareto.study.cases import case_label

_ENDINGS = {
    "holds": "all conditions hold",
    "broken": "a condition is broken, or the candidate lost or duplicated records, or it failed or disrupted the "
    "cluster significantly more often",
    "undecided": "too few blocks (gate.blocks) to decide every condition, or the candidate failed or disrupted the "
    "cluster more often, but not significantly",
}
_COMMANDS = {"holds": "notice", "broken": "error", "undecided": "warning"}


class ChangedSetting(Frozen):
    """A setting in which candidate and reference differ."""

    name: str
    reference: PropertyValue
    candidate: PropertyValue


class GateResult(Record):
    """The result of one gate: broken if a case is, else undecided if one is; `reference` says where it is from."""

    study: str
    gate: str
    reference: str
    candidate: str
    changed: list[ChangedSetting]
    verdict: Verdict
    cases: list[JudgedCase]


def verdict_of(cases: list[JudgedCase]) -> Verdict:
    """Return the verdict on all cases."""
    found = {each.verdict for each in cases}
    worst: tuple[Verdict, ...] = ("broken", "undecided", "holds")
    return next(each for each in worst if each in found)


def result_text(result: GateResult) -> str:
    """Return the result as text, one condition per line."""
    changed = ", ".join(
        f"{each.name} {property_text(each.reference)} to {property_text(each.candidate)}" for each in result.changed
    )
    lines = [f"Reference  {result.reference}", f"Candidate  {result.candidate}", f"Changed    {changed}"]
    for case in result.cases:
        lines += ["", f"{case_label(case.case)}: {case.verdict} after {counted(case.blocks, 'block')}"]
        rows = [[each.verdict, each.condition, _measured(each)] for each in case.conditions]
        lines += [f"  {line}".rstrip() for line in table_lines(rows, "left")]
        lines += [f"  {each}" for each in (*case.harm, *case.doubts)]
    return "\n".join([*lines, "", f"{result.verdict.capitalize()}: {_ENDINGS[result.verdict]}."])


def junit_xml(result: GateResult) -> bytes:
    """Return a test suite with a test per condition and case: failed if broken, skipped if undecided; in UTF-8."""
    tests = [
        JUnitTest(
            name=f"{case_label(case.case)}: {each.condition}",
            failure=_measured(each) if each.verdict == "broken" else "",
            skipped=_measured(each) if each.verdict == "undecided" else "",
            output=_measured(each),
        )
        for case in result.cases
        for each in case.conditions
    ]
    tests += [
        JUnitTest(
            name=f"{case_label(case.case)}: records and failures",
            failure="; ".join(case.harm),
            skipped="; ".join(case.doubts),
            output="; ".join([*case.harm, *case.doubts]),
        )
        for case in result.cases
        if case.harm or case.doubts
    ]
    return junit_suite(f"{result.study}.{result.gate}", result.study, tests)


def annotation_lines(result: GateResult, candidate: Path) -> Iterator[str]:
    """Yield workflow commands that annotate the candidate's file, in GitHub's form: one per condition and case."""
    for case in result.cases:
        for each in case.conditions:
            message = f"{case_label(case.case)}: {each.condition}: {each.verdict}: {_measured(each)}"
            yield _command(_COMMANDS[each.verdict], candidate, message)
        for name, found in (("error", case.harm), ("warning", case.doubts)):
            for message in found:
                yield _command(name, candidate, f"{case_label(case.case)}: {message}")


def _command(name: str, file: Path, message: str) -> str:
    place = _escaped(str(file)).replace(":", "%3A").replace(",", "%2C")
    return f"::{name} file={place},title=kafka-pareto gate::{_escaped(message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _measured(each: JudgedCondition) -> str:
    if each.value is None:
        return "not measured"
    what = f"{each.value:.3f} times the reference's" if each.of_reference else value_text(each.value, each.objective)
    if each.low is None or each.high is None:
        return f"{what} (no interval after {counted(each.blocks, 'block')})"
    ends = (f"{end:.3f}" if each.of_reference else value_text(end, each.objective) for end in (each.low, each.high))
    return f"{what} ({' to '.join(ends)})"
