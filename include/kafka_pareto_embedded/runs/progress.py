"""Computes how far a run is, from Airflow's tasks and from the campaign's repetitions in the store."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from kafka_pareto.campaign.expected_repetitions import ExpectedRepetitions, Part
from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Plan, Proposal
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, decode_table
from kafka_pareto.errors import ArtifactError, StoreError
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.identifiers import step_and_round
from kafka_pareto.study.study_file import parse_study
from kafka_pareto_embedded.airflow_api.answers import TaskRun

_AFTER_THE_ROUNDS = ("compare", "confirm", "report", "approve", "accept")
_STEPS = ("design", "propose", "measure", "validate", "train", "optimize", *_AFTER_THE_ROUNDS)
_NOT_BEGUN = ("skipped", "waiting", "upstream_failed")
_QUEUED = ("scheduled", "queued")

# The pace that is planned counts as much as so many repetitions: the first ones and those of the design are slower.
_PLANNED_PACE_COUNTS_AS = 50
# Counting lists the store, on the machine that is measured.
_COUNT_EVERY_S = 5.0


@dataclass(frozen=True)
class _Count:
    """Holds a task's number of repetitions, its state at that count, and the time of the count."""

    repetitions: int
    state: str
    at_s: float


@dataclass(frozen=True)
class Row:
    """Describes one line of the display: a step, or a step at one record size; after the design it names its round."""

    step: str
    round_number: int
    case: str | None
    state: str
    repetitions: int | None
    seconds: float | None
    task: TaskRun

    @property
    def has_begun(self) -> bool:
        """Returns whether the task runs or has ended."""
        return self.state not in (*_NOT_BEGUN, *_QUEUED)

    @property
    def has_ended_well(self) -> bool:
        """Returns whether the task has succeeded or was skipped."""
        return self.state in ("success", "skipped")

    @property
    def is_after_the_rounds(self) -> bool:
        """Returns whether the step follows all rounds."""
        return self.step in _AFTER_THE_ROUNDS

    @property
    def name(self) -> str:
        """Returns the step's name and, if it has one, the label of its case."""
        case = "" if self.case is None else f" ({case_label(self.case)})"
        return f"{self.step_name}{case}"

    @property
    def part(self) -> Part | None:
        """Returns what the row has measured; None for a row without repetitions."""
        if self.case is None or self.repetitions is None:
            return None
        round_number = None if self.step == "confirm" else self.round_number
        return Part(self.case, round_number, self.repetitions, self.state == "success")

    @property
    def step_name(self) -> str:
        """Returns the step's name, with its round after the design."""
        return f"round {self.round_number} {self.step}" if self.round_number else self.step


@dataclass(frozen=True)
class Progress:
    """Describes a run at one moment.

    `repetitions_planned` is the most that the campaign can need. Adaptive trials may stop early, rounds may be skipped,
    and a case at which nothing is picked needs no gain blocks. As tasks end, it falls to what was measured.
    `time_left_s` is for what is likely to follow, and None before the plan is in the store. Rows of rounds that are
    skipped or have not begun are left out. `overrides` says what the plan has instead of the study's file.
    """

    run_state: str
    rows: tuple[Row, ...]
    repetitions: int
    repetitions_planned: int | None
    elapsed_s: float
    time_left_s: float | None
    overrides: str = ""


class FollowedRun(Protocol):
    """Turns Airflow's view of a run into its progress."""

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        """Returns the progress `elapsed_s` after the follower began."""


class TaskProgress:
    """Follows a run by its tasks alone; skipped tasks are left out."""

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        """Returns the progress now, in the order in which the tasks began."""
        shown = [task for task in tasks if task.state != "skipped"]
        rows = tuple(_plain_row(task) for task in sorted(shown, key=_as_begun))
        return Progress(run_state, rows, 0, None, elapsed_s, None)


class CampaignProgress:
    """Follows one campaign in the store. Counts a task when its state changes, and now and then while it runs."""

    def __init__(self, store: Store, keys: CampaignKeys) -> None:
        self._store = store
        self._keys = keys
        self._planned: ExpectedRepetitions | None = None
        self._cases_of_rounds: dict[int, list[str]] = {}
        self._counts: dict[str, _Count] = {}
        self._found_counts: dict[str, int] = {}
        self._loading_since_s = 0.0

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        """Returns the progress `elapsed_s` after the follower began."""
        if self._planned is None:
            self._read_plan()
        self._read_proposals(tasks)
        begun = (task for task in tasks if self._belongs(task))
        rows = tuple(self._row(task, elapsed_s) for task in sorted(begun, key=_in_order))
        repetitions = sum(row.repetitions or 0 for row in rows)
        parts = [part for row in rows if (part := row.part) is not None]
        planned = None if self._planned is None else self._planned.most(parts, self._spared())
        likely = None if self._planned is None else self._planned.likely(parts, self._spared())
        return Progress(
            run_state=run_state,
            rows=rows,
            repetitions=repetitions,
            repetitions_planned=planned,
            elapsed_s=elapsed_s,
            time_left_s=self._time_left_s(repetitions, likely, elapsed_s),
            overrides="" if self._planned is None else "; ".join(map(str, self._planned.plan.overrides)),
        )

    def _belongs(self, task: TaskRun) -> bool:
        """Returns whether to show the task: every one of round 0, and those of later rounds that have begun."""
        number = _round_of(task)
        if number and self._planned is not None and number not in self._planned.study.round_numbers():
            return False
        return number == 0 or task.state not in _NOT_BEGUN

    def _read_plan(self) -> None:
        try:
            frozen = self._keys.frozen_study()
            study = parse_study(self._store.get(frozen).decode(), frozen)
            plan = decode_record(self._store.get(self._keys.plan()), self._keys.plan(), Plan)
            design = decode_table(self._store.get(self._keys.design()), self._keys.design(), DESIGN_COLUMNS, study)
        except (ArtifactError, StoreError):
            return
        self._planned = ExpectedRepetitions(study, plan, Counter(design.case.tolist()))

    def _read_proposals(self, tasks: list[TaskRun]) -> None:
        """Reads which record sizes the rounds go on with, as far as that is decided."""
        study = self._planned.study if self._planned else None
        for task in tasks:
            number = _round_of(task)
            if study is None or _step_of(task) != "propose" or number not in study.round_numbers():
                continue
            if task.state == "skipped":
                self._cases_of_rounds[number] = []
            elif task.state == "success" and number not in self._cases_of_rounds:
                with suppress(ArtifactError, StoreError):
                    key = self._keys.proposal(number)
                    proposal = decode_record(self._store.get(key), key, Proposal)
                    self._cases_of_rounds[number] = proposal.going_on()

    def _spared(self) -> int:
        all_cases = len(self._planned.study.cases) if self._planned else 0
        return sum(all_cases - len(cases) for cases in self._cases_of_rounds.values())

    def _row(self, task: TaskRun, elapsed_s: float) -> Row:
        step, number = _step_of(task), _round_of(task)
        cases = self._planned.study.cases if self._planned else []
        if step == "measure" and number:
            cases = self._cases_of_rounds.get(number, [])
        case = cases[task.map_index] if 0 <= task.map_index < len(cases) else None
        return Row(step, number, case, task.state, self._count(task, case, elapsed_s), task.seconds, task)

    def _count(self, task: TaskRun, case: str | None, elapsed_s: float) -> int | None:
        step = _step_of(task)
        if case is None or step not in ("measure", "confirm"):
            return None
        if step == "measure":
            prefix = self._keys.measurements(case, _round_of(task))
        else:
            prefix = self._keys.confirmation(case, "repetitions/")
        last = self._counts.get(prefix)
        is_due = task.state == "running" and last is not None and elapsed_s - last.at_s >= _COUNT_EVERY_S
        if last is not None and last.state == task.state and not is_due:
            return last.repetitions
        try:
            count = sum(key.endswith(".json") for key in self._store.keys(prefix))
        except StoreError:
            # The steps wait for the store themselves. Their failure is worth a message; a count that fails is not.
            return None if last is None else last.repetitions
        self._counts[prefix] = _Count(count, task.state, elapsed_s)
        # What an earlier run of the campaign has measured does not belong to this run's pace.
        self._found_counts.setdefault(prefix, count)
        return count

    def _time_left_s(self, repetitions: int, likely: int | None, elapsed_s: float) -> float | None:
        measured = repetitions - sum(self._found_counts.values())
        if measured <= 0:
            self._loading_since_s = elapsed_s
        if likely is None or self._planned is None:
            return None
        plan = self._planned.plan
        planned_s = _PLANNED_PACE_COUNTS_AS * plan.duration_s / plan.repetitions
        pace_s = (elapsed_s - self._loading_since_s + planned_s) / (measured + _PLANNED_PACE_COUNTS_AS)
        return max(likely - repetitions, 0) * pace_s


def _step_of(task: TaskRun) -> str:
    return step_and_round(task.task_id)[0]


def _round_of(task: TaskRun) -> int:
    """Returns the round that the task belongs to; 0 if it belongs to none."""
    return step_and_round(task.task_id)[1]


def _in_order(task: TaskRun) -> tuple[bool, int, int, int]:
    step = _step_of(task)
    return step in _AFTER_THE_ROUNDS, _round_of(task), _STEPS.index(step), task.map_index


def _plain_row(task: TaskRun) -> Row:
    case = re.fullmatch(r"(\d+) B", task.label or "")
    return Row(task.task_id, 0, case.group(1) if case else None, task.state, None, task.seconds, task)


def _as_begun(task: TaskRun) -> tuple[bool, float, str, int]:
    began = task.started_at.timestamp() if task.started_at else 0.0
    return task.started_at is None, began, task.task_id, task.map_index
