"""Builders of checks, findings and reports."""

from __future__ import annotations

from typing import Any

from kafka_pareto.doctor.guide import Check, Plain
from kafka_pareto.doctor.readings import Reading
from kafka_pareto.doctor.records import DoctorReport, Finding, Found
from kafka_pareto.doctor.verdicts import Circumstances, judge

FAST_LINK = Reading((Found(subject="eth0", value=25_000),))
HERE = Circumstances(
    kafka_version="4.3", linux_version="6.1.0-32-amd64", cores=8, link=FAST_LINK, memory_gb_per_broker=128.0
)


def check_of(rule: dict[str, Any], **changes: Any) -> Check:
    content: dict[str, Any] = {
        "id": "made",
        "group": "broker",
        "title": "num.io.threads",
        "section": "Chapter 1",
        "reads": {"source": "broker", "name": "num.io.threads"},
        "rule": rule,
        "protects": "nothing",
        "fix": "set it",
    }
    return Check.model_validate({**content, **changes})


def reading_of(*values: Plain | None, reason: str = "") -> Reading:
    found = tuple(Found(subject=f"broker {n}", value=value) for n, value in enumerate(values, start=1))
    return Reading(found, reason)


def finding_of(rule: dict[str, Any], *values: Plain | None, reason: str = "", **changes: Any) -> Finding:
    return judge(check_of(rule, **changes), reading_of(*values, reason=reason), HERE)


def report_of(*findings: Finding) -> DoctorReport:
    return DoctorReport(
        at="2026-11-23T00:00:00+00:00",
        kafka="kafka1:9092",
        kafka_version="4.3",
        brokers=[1, 2, 3],
        brokers_here=[1],
        cores=8,
        guide="Our own guide",
        source="a book",
        findings=list(findings),
    )
