"""Progress of a campaign from the store: steps, repetitions, and time left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.records import Plan, Proposal
from kafka_pareto.campaign.tables import DESIGN_COLUMNS
from kafka_pareto.campaign.time_left import ExpectedRepetitions, Part, TimeLeft, time_left
from kafka_pareto.errors import MissingArtifactError
from kafka_pareto.study.cases import case_label

StepState = Literal["done", "under way", "waiting"]


class StepProgress(BaseModel):
    """One step, or its part in one case; repetitions only where it measures."""

    name: str
    state: StepState
    repetitions: int | None = None
    repetitions_most: int | None = None


class ProgressReport(BaseModel):
    """A campaign at one moment; numbers exclude the noise study, and those of the plan are None until it is made."""

    steps: list[StepProgress]
    repetitions: int
    repetitions_likely: int | None
    repetitions_most: int | None
    time_left: TimeLeft | None
    last_written_at: datetime
    finished: bool


def campaign_progress(
    campaign: Campaign, listed: Mapping[str, datetime] | None = None, now: datetime | None = None
) -> ProgressReport:
    """Return a campaign's progress `now`; `listed` has the write time of each key, if known."""
    written = campaign.store.written_at(f"{campaign.keys.prefix}/") if listed is None else listed
    cases_of_rounds = _cases_of_rounds(campaign, written)
    parts = list(_parts(campaign, written, cases_of_rounds))
    expected = _expected(campaign)
    finished = campaign.keys.report("report.html") in written  # the report's last artifact
    # The design step rewrites the plan when a campaign resumes.
    began, now = written.get(campaign.keys.plan()), now or datetime.now(UTC)
    left = time_left(expected, parts, cases_of_rounds, began, now) if expected and began and not finished else None
    return ProgressReport(
        steps=list(_steps(campaign, written, cases_of_rounds, parts, expected)),
        repetitions=sum(part.repetitions for part in parts),
        repetitions_likely=expected.likely(parts, cases_of_rounds) if expected else None,
        repetitions_most=expected.most(parts, cases_of_rounds) if expected else None,
        time_left=left,
        last_written_at=max(written.values()),
        finished=finished,
    )


def _cases_of_rounds(campaign: Campaign, written: Mapping[str, datetime]) -> dict[int, list[str]]:
    """Return the cases of each decided round; none once the confirmation has begun."""
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
    # One pass: scanning all names per case would be quadratic.
    stored: dict[str, list[datetime]] = defaultdict(list)
    for key, when in written.items():
        if key.endswith(".json"):
            stored[key.rpartition("/")[0]].append(when)
    for number, cases in {0: campaign.study.cases, **cases_of_rounds}.items():
        for case in cases:
            done = sorted(stored[keys.measurements(case, number).rstrip("/")])
            yield Part(case, number, tuple(done), ended=keys.trials(number) in written)
    for case in campaign.study.cases:
        done = sorted(stored[keys.confirmation(case, "repetitions")])
        yield Part(case, None, tuple(done), ended=keys.confirmation(case, "decision.json") in written)


def _steps(
    campaign: Campaign,
    written: Mapping[str, datetime],
    cases_of_rounds: Mapping[int, list[str]],
    parts: list[Part],
    expected: ExpectedRepetitions | None,
) -> Iterator[StepProgress]:
    """List the steps in pipeline order, without rounds that are undecided or have nothing to measure."""
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
            found = [key in written for key in artifacts]
            yield StepProgress(name=f"{prefix}{step}", state=_state(any(found), all(found)))
    for part in parts:
        if part.round_number is None:
            yield _measured_step(f"confirm, {case_label(part.case)}", part, expected)
    begun, ended = (keys.report(name) in written for name in ("cards.json", "report.html"))
    yield StepProgress(name="report", state=_state(begun, ended))


def _measured_step(name: str, part: Part, expected: ExpectedRepetitions | None) -> StepProgress:
    most = expected.most_of(part) if expected else None
    state = _state(part.repetitions > 0, part.ended or part.repetitions == most)
    return StepProgress(name=name, state=state, repetitions=part.repetitions, repetitions_most=most)


def _state(begun: bool, ended: bool) -> StepState:
    return "done" if ended else "under way" if begun else "waiting"


def _expected(campaign: Campaign) -> ExpectedRepetitions | None:
    """Return the planned repetitions; None while the design step still writes."""
    try:
        plan = campaign.read_record(campaign.keys.plan(), Plan)
        design = campaign.read_table(campaign.keys.design(), DESIGN_COLUMNS)
    except MissingArtifactError:
        return None
    return ExpectedRepetitions(campaign.tune, plan, Counter(design.case.tolist()))
