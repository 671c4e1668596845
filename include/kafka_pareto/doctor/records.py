"""The report of `make doctor`: a verdict per check, with its values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from kafka_pareto.doctor.guide import Check, Plain
from kafka_pareto.storage.record import Frozen, Record

Verdict: TypeAlias = Literal["met", "safer", "not_met", "not_applicable", "not_readable"]
VERDICTS: tuple[Verdict, ...] = ("met", "safer", "not_met", "not_applicable", "not_readable")


class Found(Frozen):
    """One value and its subject, such as `broker 1`; None stands for a setting without a value."""

    subject: str
    value: Plain | None


class Finding(Frozen):
    """The result of one check.

    Attributes:
        check: The check as applied: with the rule for this machine, and a fix only if not met.
        found: The values read.
        reason: Why a check does not apply or could not be read, as a code of `doctor.words`; else empty.
    """

    check: Check
    verdict: Verdict
    found: list[Found]
    reason: str = ""


class DoctorReport(Record):
    """The verdicts on one cluster, or on this machine alone.

    Attributes:
        at: Time of the report, in UTC.
        kafka: The bootstrap servers; empty without a cluster.
        kafka_version: None if unknown.
        brokers: IDs of the live brokers.
        brokers_here: IDs of the brokers whose processes are visible on this machine.
        cores: Cores of this machine if all brokers run on it; else None.
        topics_left: Topics of campaigns, running or finished.
        client_files: The settings read from the files of `producer` and `consumer`, as lines of text.
        guide: The title of the guide.
        source: Its author and address.
    """

    at: str
    kafka: str
    kafka_version: str | None
    brokers: list[int]
    brokers_here: list[int]
    cores: int | None
    guide: str
    source: str
    findings: list[Finding]
    topics_left: tuple[str, ...] = ()
    client_files: dict[str, list[str]] = Field(default_factory=dict)

    def count(self, verdict: Verdict) -> int:
        """Count the checks with this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)

    def items(self) -> dict[int, Verdict]:
        """Return a verdict for each item of the guide's checklist, from all of its checks.

        An item is not met if one of its checks is not; else not readable if one could not be read; else safer than the
        guide if one is; else met.
        """
        worst: tuple[Verdict, ...] = ("not_met", "not_readable", "safer", "met", "not_applicable")
        verdicts: dict[int, set[Verdict]] = {}
        for finding in self.findings:
            if finding.check.item is not None:
                verdicts.setdefault(finding.check.item, set()).add(finding.verdict)
        return {
            item: next(verdict for verdict in worst if verdict in found) for item, found in sorted(verdicts.items())
        }
