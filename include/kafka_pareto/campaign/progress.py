"""Tells how far a campaign is: its steps, its repetitions, and the time that the rest may take.

All of it is read from the store.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Literal

from pydantic import BaseModel

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.expected_repetitions import ExpectedRepetitions, Part
from kafka_pareto.campaign.records import Plan, Proposal
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.study.cases import case_label

# Fewer repetitions give no reliable pace; older ones give an outdated pace.
_FEWEST_FOR_A_PACE, _MOST_FOR_A_PACE = 4, 50

StepState = Literal["done", "under way", "waiting"]


class StepProgress(BaseModel):
    """Describes one step, or its part in one case; repetitions only where the step measures."""

    name: str
    state: StepState
    repetitions: int | None = None
    repetitions_most: int | None = None


class ProgressReport(BaseModel):
    """Describes a campaign at one moment.

    Attributes:
        repetitions_most: The most that the campaign can still come to, without those of the noise study; None before it
            is planned.
        seconds_per_repetition: The median time between one repetition and the next, over the last 50.
        time_left_s: For what is likely to follow. None where there is no pace, or nothing left to measure.
        last_written_at: When anything was last written.
    """

    steps: list[StepProgress]
    repetitions: int
    repetitions_most: int | None
    seconds_per_repetition: float | None
    time_left_s: float | None
    last_written_at: datetime
    finished: bool


def campaign_progress(campaign: Campaign, listed: Mapping[str, datetime] | None = None) -> ProgressReport:
    """Returns the progress of a campaign, from its plan, its rounds' decisions and one listing of its objects.

    Args:
        campaign: The campaign.
        listed: When each of its objects was written, by key; listed here if it is not given.

    Raises:
        ArtifactError: If one of these is damaged or of another schema version.
    """
    written = campaign.store.written_at(f"{campaign.keys.prefix}/") if listed is None else listed
    cases_of_rounds = _cases_of_rounds(campaign, written)
    parts = list(_parts(campaign, written, cases_of_rounds))
    expected = _expected(campaign)
    spared = sum(len(campaign.study.cases) - len(cases) for cases in cases_of_rounds.values())
    most = expected.most(parts, spared) if expected else None
    repetitions = sum(part.repetitions for part in parts)
    pace_s = _pace_s(sorted(when for key, when in written.items() if _is_repetition(key)))
    finished = campaign.keys.report("cards.json") in written
    left = max(expected.likely(parts, spared) - repetitions, 0) if expected else 0
    return ProgressReport(
        steps=list(_steps(campaign, written, cases_of_rounds, parts, expected)),
        repetitions=repetitions,
        repetitions_most=most,
        seconds_per_repetition=pace_s,
        time_left_s=pace_s * left if pace_s is not None and left and not finished else None,
        last_written_at=max(written.values()),
        finished=finished,
    )


def _cases_of_rounds(campaign: Campaign, written: Mapping[str, datetime]) -> dict[int, list[str]]:
    """Returns the cases that each decided round measures.

    There are none once the confirmation has begun.
    """
    keys, cases = campaign.keys, {}
    confirming = any(key.startswith(f"{keys.prefix}/06_confirmation/") for key in written)
    for number in campaign.study.round_numbers()[1:]:
        if keys.proposal(number) in written:
            cases[number] = campaign.read_record(keys.proposal(number), Proposal).going_on()
        elif confirming:
            cases[number] = []
    return cases


def _parts(
    campaign: Campaign, written: Mapping[str, datetime], cases_of_rounds: Mapping[int, list[str]]
) -> Iterator[Part]:
    keys = campaign.keys
    # In one pass: a look at every name for each case would grow with the square of the cases.
    stored = Counter(key.rpartition("/")[0] for key in written if key.endswith(".json"))
    for number, cases in {0: campaign.study.cases, **cases_of_rounds}.items():
        for case in cases:
            done = stored[keys.measurements(case, number).rstrip("/")]
            yield Part(case, number, done, ended=keys.trials(number) in written)
    for case in campaign.study.cases:
        done = stored[keys.confirmation(case, "repetitions")]
        yield Part(case, None, done, ended=keys.confirmation(case, "decision.json") in written)


def _steps(
    campaign: Campaign,
    written: Mapping[str, datetime],
    cases_of_rounds: Mapping[int, list[str]],
    parts: list[Part],
    expected: ExpectedRepetitions | None,
) -> Iterator[StepProgress]:
    """Lists the steps in the order of the pipeline, without rounds that are undecided or have nothing to measure."""
    keys = campaign.keys
    yield StepProgress(name="design", state="done" if keys.design() in written else "under way")
    for number, cases in {0: campaign.study.cases, **cases_of_rounds}.items():
        if not cases:
            continue
        prefix = f"round {number} " if number else ""
        for part in parts:
            if part.round_number == number:
                yield _measured_step(f"{prefix}measure, {case_label(part.case)}", part, expected)
        ends = {
            "validate": [keys.trials(number)],
            "train": [keys.surrogates("scores.parquet", number)],
            "optimize": [keys.front(case, number) for case in cases],
        }
        for step, artifacts in ends.items():
            yield StepProgress(name=f"{prefix}{step}", state=_state_of(written, artifacts))
    for part in parts:
        if part.round_number is None:
            yield _measured_step(f"confirm, {case_label(part.case)}", part, expected)
    yield StepProgress(name="report", state=_state_of(written, [keys.report("cards.json")]))


def _measured_step(name: str, part: Part, expected: ExpectedRepetitions | None) -> StepProgress:
    most = expected.most_of(part) if expected else None
    ended = part.ended or part.repetitions == most
    state: StepState = "done" if ended else "under way" if part.repetitions else "waiting"
    return StepProgress(name=name, state=state, repetitions=part.repetitions, repetitions_most=most)


def _state_of(written: Mapping[str, datetime], artifacts: list[str]) -> StepState:
    found = sum(key in written for key in artifacts)
    if not found:
        return "waiting"
    return "done" if found == len(artifacts) else "under way"


def _expected(campaign: Campaign) -> ExpectedRepetitions | None:
    """Returns what was planned; None while the design step still writes."""
    try:
        plan = campaign.read_record(campaign.keys.plan(), Plan)
        design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    except MissingArtifactError:
        return None
    return ExpectedRepetitions(campaign.tune, plan, Counter(design.case.tolist()))


def _is_repetition(key: str) -> bool:
    return re.search(r"/(02_measurements/\d+|repetitions)/[^/]+\.json$", key) is not None


def _pace_s(times: list[datetime]) -> float | None:
    """Returns the median seconds per repetition, which a night's interruption does not change."""
    recent = times[-_MOST_FOR_A_PACE:]
    if len(recent) < _FEWEST_FOR_A_PACE:
        return None
    return median((later - earlier).total_seconds() for earlier, later in pairwise(recent))
