"""Format a report for a terminal."""

from __future__ import annotations

import textwrap

from kafka_pareto.doctor.records import DoctorReport, Finding
from kafka_pareto.doctor.words import (
    VERDICT_WORDS,
    advice_text,
    by_group,
    client_file_lines,
    count_text,
    expected_text,
    found_text,
    items_text,
    left_text,
    subject_text,
)

_WIDTH = 110
_VERDICT_WIDTH = 22
_TITLE_WIDTH = 42


def report_text(report: DoctorReport) -> str:
    """Return the findings by group, fixes for those not met, and the counts; without a trailing newline."""
    lines = [f"Checked: {subject_text(report)}", f"Guide: {report.source}"]
    for line in client_file_lines(report):
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    for name, findings in by_group(report).items():
        lines += ["", name, *(line for finding in findings for line in _lines(finding, report.cores))]
    lines += ["", items_text(report), count_text(report)]
    if left := left_text(report):
        lines += ["", *textwrap.wrap(left, _WIDTH, break_long_words=False, break_on_hyphens=False)]
    return "\n".join(lines)


def _lines(finding: Finding, cores: int | None) -> list[str]:
    check = finding.check
    head = f"  {VERDICT_WORDS[finding.verdict]:<{_VERDICT_WIDTH}}{check.title:<{_TITLE_WIDTH}}"
    note = f" ({check.note})" if check.note else ""
    if finding.verdict == "met":  # the guide's own value may be a risk
        return _wrapped(f"{head} {found_text(finding)}{note if check.protects != 'nothing' else ''}")
    advice = advice_text(finding)
    if finding.verdict not in ("not_met", "safer"):
        return _wrapped(f"{head} {advice}")
    lines = _wrapped(f"{head} {found_text(finding)}; guide: {expected_text(check.rule, cores)}")
    return lines + _wrapped(f"{' ' * (_VERDICT_WIDTH + 2)}{'→ ' if check.fix else ''}{advice}{note}")


def _wrapped(line: str) -> list[str]:
    indent = " " * (_VERDICT_WIDTH + 4)
    return textwrap.wrap(line.rstrip(), _WIDTH, subsequent_indent=indent, drop_whitespace=True, break_long_words=False)
