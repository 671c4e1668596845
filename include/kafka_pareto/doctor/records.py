"""Defines what `make doctor` hands over: a verdict for each check, with what was found."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from kafka_pareto.doctor.guide import Check, Plain
from kafka_pareto.storage.record import Record

Verdict: TypeAlias = Literal["met", "safer", "not_met", "not_applicable", "not_readable"]
VERDICTS: tuple[Verdict, ...] = ("met", "safer", "not_met", "not_applicable", "not_readable")


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Found(_Content):
    """Holds one value and whose it is, as in `broker 1`; None stands for a setting without a value."""

    subject: str
    value: Plain | None


class Finding(_Content):
    """Holds what came of one check.

    Attributes:
        check: As it was judged: its rule is for this machine, and it has a remedy only where it is not met.
        found: What could be read.
        reason: Why a check does not apply or could not be read, as a code of `doctor.words`; else empty.
    """

    check: Check
    verdict: Verdict
    found: list[Found]
    reason: str = ""


class DoctorReport(Record):
    """Holds the verdicts on one cluster, or on this machine alone.

    Attributes:
        at: When it was looked, in UTC.
        kafka: The bootstrap servers; empty where no cluster was asked.
        kafka_version: Its release; None where nobody said.
        brokers: Ids of the live brokers.
        brokers_here: Ids of those whose processes run on this machine and can be seen.
        cores: Of this machine, where the brokers run on it; else None.
        topics_left: Topics of campaigns of this tool; while none loads the cluster, they were left there.
        guide: The title of the guide.
        source: Who wrote it, and where.
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

    def count(self, verdict: Verdict) -> int:
        """Counts the checks that came to this verdict."""
        return sum(finding.verdict == verdict for finding in self.findings)

    def items(self) -> dict[int, Verdict]:
        """Returns a verdict for each item of the guide's checklist, from all of its checks.

        An item is not met if one of its checks is not; else not readable if one could not be read; else safer than
        the guide if one is; else met.
        """
        worst: tuple[Verdict, ...] = ("not_met", "not_readable", "safer", "met", "not_applicable")
        verdicts: dict[int, set[Verdict]] = {}
        for finding in self.findings:
            if finding.check.item is not None:
                verdicts.setdefault(finding.check.item, set()).add(finding.verdict)
        return {
            item: next(verdict for verdict in worst if verdict in found) for item, found in sorted(verdicts.items())
        }
