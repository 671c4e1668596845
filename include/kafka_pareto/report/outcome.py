"""Summarize a finished campaign for scripts, as JSON and as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from kafka_pareto.decision.decision import Decision, Outcome, Verdict
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.report.cards import Cards
from kafka_pareto.report.junit import JUnitTest, junit_suite
from kafka_pareto.report.reasons import headline_of, reason_of
from kafka_pareto.storage.record import Record
from kafka_pareto.study.objectives import ObjectiveName


class Change(BaseModel):
    """The pick's change of one objective against the active settings, as a fraction with its 95 % interval."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    objective: ObjectiveName
    change_fraction: float | None
    change_low_fraction: float | None
    change_high_fraction: float | None
    resolution: Literal["better", "worse", "no difference shown", "not resolved"]


class CaseOutcome(BaseModel):
    """The outcome of one case and its scope; `properties` are the settings for the producer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    holds_for: str
    outcome: Outcome
    verdict: Verdict
    headline: str
    reason: str
    configuration_id: str
    properties: dict[str, PropertyValue]
    changes: list[Change]


class CampaignOutcome(Record):
    """The outcome of all cases: undecided if one is, else changed if one is."""

    study: str
    campaign: str
    outcome: Outcome
    cases: list[CaseOutcome]


def outcome_of(cards: Cards) -> CampaignOutcome:
    """Return the cards' conclusions, without the evidence."""
    found = [decision.outcome for decision in cards.cards]
    together: Sequence[Outcome] = ("undecided", "changed", "kept")
    return CampaignOutcome(
        study=cards.study,
        campaign=cards.campaign,
        outcome=next((each for each in together if each in found), "kept"),
        cases=[_of_case(decision) for decision in cards.cards],
    )


def junit_xml(outcome: CampaignOutcome) -> bytes:
    """Return a test suite with one test per case (passed if decided, else skipped), in UTF-8."""
    tests = [
        JUnitTest(
            name=case.case,
            output=f"{case.headline}\n{case.reason}",
            skipped=case.headline if case.outcome == "undecided" else "",
        )
        for case in outcome.cases
    ]
    return junit_suite(f"{outcome.study}.{outcome.campaign}", outcome.study, tests)


def _of_case(decision: Decision) -> CaseOutcome:
    return CaseOutcome(
        case=decision.case,
        holds_for=decision.holds_for,
        outcome=decision.outcome,
        verdict=decision.verdict,
        headline=headline_of(decision),
        reason=reason_of(decision),
        configuration_id=decision.recommended_configuration_id,
        properties=decision.recommended_properties,
        changes=[Change(**gain.model_dump(include=set(Change.model_fields))) for gain in decision.gains],
    )
