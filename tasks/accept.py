"""Runs the step `accept`: puts a campaign's recommendations, or a picked configuration, in force."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.errors import BadInputError
from kafka_pareto.rollout.messages import plain
from kafka_pareto.steps import accept
from kafka_pareto.study.identifiers import CHANGES_NAME
from tasks.common import CampaignOption, ClusterIfAny, ManifestOption, StudyOption, open_campaign, run_command, run_step


class GivenAnswer(StrEnum):
    """Holds a person's answer to the recommendations."""

    approve = "approve"
    reject = "reject"
    not_asked = "not_asked"


CaseIfAny = Annotated[str | None, typer.Option("--case", help="this one alone, in bytes")]
ConfigurationOption = Annotated[str, typer.Option("--configuration", help="a confirmed one that somebody picked")]
AnswerOption = Annotated[GivenAnswer, typer.Option("--answer", help="what a person said, where one was asked")]
AsksOption = Annotated[bool, typer.Option("--ask", help="a person is asked first: nothing moves yet")]
ByOption = Annotated[str, typer.Option("--approved-by", help="who that was")]
ReasonOption = Annotated[str, typer.Option("--reason", help="in their words")]
AnsweredAtOption = Annotated[str, typer.Option("--answered-at", help="when they said so, in ISO 8601; empty: now")]
AskedAtOption = Annotated[str, typer.Option("--asked-at", help="when they were asked, in ISO 8601; empty: just now")]
ChangesSeenOption = Annotated[str, typer.Option("--changes-seen", help="name of the changes that they were shown")]
RequestOption = Annotated[str, typer.Option("--request", help="the same request moves something only once")]
SeenOption = Annotated[str, typer.Option("--seen", help="versions that the person was shown: 1024=3,8192=0")]
FromVersionIfAny = Annotated[int | None, typer.Option("--from-version", min=0, help="in force before; 0: none yet")]


def main(
    study: StudyOption,
    campaign: CampaignOption,
    case: CaseIfAny = None,
    configuration: ConfigurationOption = "",
    ask: AsksOption = False,
    answer: AnswerOption = GivenAnswer.not_asked,
    approved_by: ByOption = "",
    reason: ReasonOption = "",
    answered_at: AnsweredAtOption = "",
    asked_at: AskedAtOption = "",
    seen: SeenOption = "",
    changes_seen: ChangesSeenOption = "",
    request: RequestOption = "",
    from_version: FromVersionIfAny = None,
    cluster: ClusterIfAny = None,
    manifest: ManifestOption = None,
) -> None:
    """Puts what is recommended, or what was picked, in force as a new version."""

    def step() -> Manifest:
        wanted = accept.Wanted(
            case,
            configuration or None,
            answer.value,
            by=plain(approved_by),
            reason=plain(reason),
            answered_at=_time("--answered-at", answered_at),
            seen=_versions(seen),
            asks=ask,
            asked_at=_time("--asked-at", asked_at),
            changes_seen=_name_of_changes(changes_seen),
            request=plain(request),
            from_version=from_version,
            cluster=cluster,
        )
        return accept.run(open_campaign(study, campaign), wanted)

    run_step(step, manifest)


def _versions(text: str) -> dict[str, int]:
    try:
        return {case: int(version) for case, version in (each.split("=") for each in text.split(",") if each)}
    except ValueError as error:
        raise BadInputError(f"--seen: {text!r}: must be versions by case, like 1024=3,8192=0") from error


def _time(option: str, text: str) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError as error:
        raise BadInputError(f"{option}: {text!r}: must be a time in ISO 8601") from error


def _name_of_changes(text: str) -> str:
    if text and not re.fullmatch(CHANGES_NAME, text):
        raise BadInputError(f"--changes-seen: {text!r}: must be a name that this step has given, like 0123456789")
    return text


if __name__ == "__main__":
    run_command(main)
