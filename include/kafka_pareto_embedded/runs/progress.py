"""Compute a run's progress from Airflow's tasks and the campaign's repetitions in the store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from kafka_pareto.campaign.keys import CampaignKeys
from kafka_pareto.campaign.records import Plan, Proposal
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, decode_table
from kafka_pareto.campaign.time_left import ExpectedRepetitions, Part, TimeLeft, time_left
from kafka_pareto.decision.decision import Decision
from kafka_pareto.errors import ArtifactError, StoreError
from kafka_pareto.report.answer import decision_line
from kafka_pareto.storage.record import decode_record
from kafka_pareto.storage.store import Store
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.identifiers import step_and_round
from kafka_pareto.study.study_file import parse_study
from kafka_pareto_embedded.airflow_api.answers import TaskRun

_AFTER_THE_ROUNDS = ("compare", "confirm", "report", "accept", "ask")
_STEPS = ("design", "start_load_machines", "propose", "measure", "validate", "train", "optimize", *_AFTER_THE_ROUNDS)
_NOT_BEGUN = ("skipped", "waiting", "upstream_failed")
_QUEUED = ("scheduled", "queued")

# Counting lists the store, which may disturb the measurement on this machine.
_COUNT_EVERY_S = 5.0


@dataclass(frozen=True)
class _Count:
    """The storage times of a task's repetitions, its state at that count, and the time of the count."""

    stored_at: tuple[datetime, ...]
    state: str
    at_s: float


@dataclass(frozen=True)
class Row:
    """One line of the display: a step, or a step at one case; after the design with its round.

    `decision` is that of a confirmed case in one line; empty before.
    """

    step: str
    round_number: int
    case: str | None
    state: str
    stored_at: tuple[datetime, ...] | None
    seconds: float | None
    task: TaskRun
    decision: str = ""

    @property
    def repetitions(self) -> int | None:
        """Return the number of stored repetitions; None for a row that does not measure."""
        return None if self.stored_at is None else len(self.stored_at)

    @property
    def has_begun(self) -> bool:
        """Return whether the task is running or has ended."""
        return self.state not in (*_NOT_BEGUN, *_QUEUED)

    @property
    def has_ended_well(self) -> bool:
        """Return whether the task has succeeded or was skipped."""
        return self.state in ("success", "skipped")

    @property
    def is_after_the_rounds(self) -> bool:
        """Return whether the step follows all rounds."""
        return self.step in _AFTER_THE_ROUNDS

    @property
    def name(self) -> str:
        """Return the step's name and, if it has one, the label of its case."""
        case = "" if self.case is None else f" ({case_label(self.case)})"
        return f"{self.step_name}{case}"

    @property
    def part(self) -> Part | None:
        """Return the row's repetitions; None for a row without them."""
        if self.case is None or self.stored_at is None:
            return None
        round_number = None if self.step == "confirm" else self.round_number
        return Part(self.case, round_number, self.stored_at, self.state == "success")

    @property
    def step_name(self) -> str:
        """Return the step's name, with its round after the design."""
        return f"round {self.round_number} {self.step}" if self.round_number else self.step


@dataclass(frozen=True)
class Progress:
    """A run at one moment.

    `repetitions_most` is an upper bound: adaptive trials may stop early, rounds may be skipped, and a case without a
    pick needs no gain blocks. As tasks end, it falls to the measured count, and so does `repetitions_likely`. Both and
    `time_left` are None before the plan is in the store; `time_left` is also None while the run waits. Rows of rounds
    that are skipped or have not begun are excluded. `overrides` lists the plan's differences from the study's file.
    """

    run_state: str
    rows: tuple[Row, ...]
    repetitions: int
    repetitions_likely: int | None
    repetitions_most: int | None
    elapsed_s: float
    time_left: TimeLeft | None
    overrides: str = ""


class FollowedRun(Protocol):
    """Turn Airflow's view of a run into its progress."""

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        """Return the progress `elapsed_s` after the follower began."""


class TaskProgress:
    """Follow a run by its tasks only; exclude skipped tasks."""

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        """Return the current progress, in the tasks' order of start."""
        shown = [task for task in tasks if task.state != "skipped"]
        rows = tuple(_plain_row(task) for task in sorted(shown, key=_as_begun))
        return Progress(run_state, rows, 0, None, None, elapsed_s, None)


class CampaignProgress:
    """Follow one campaign in the store. Counts a task when its state changes, and now and then while it runs."""

    def __init__(
        self, store: Store, keys: CampaignKeys, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = store
        self._keys = keys
        self._clock = clock
        self._planned: ExpectedRepetitions | None = None
        self._cases_of_rounds: dict[int, list[str]] = {}
        self._counts: dict[str, _Count] = {}
        self._decisions: dict[str, str] = {}

    def at(self, run_state: str, tasks: list[TaskRun], elapsed_s: float) -> Progress:
        """Return the progress `elapsed_s` after the follower began."""
        if self._planned is None:
            self._read_plan()
        self._read_proposals(tasks)
        begun = (task for task in tasks if self._belongs(task))
        rows = tuple(self._row(task, elapsed_s) for task in sorted(begun, key=_in_order))
        parts = [part for row in rows if (part := row.part) is not None]
        planned, rounds = self._planned, self._cases_of_rounds
        return Progress(
            run_state=run_state,
            rows=rows,
            repetitions=sum(part.repetitions for part in parts),
            repetitions_likely=None if planned is None else planned.likely(parts, rounds),
            repetitions_most=None if planned is None else planned.most(parts, rounds),
            elapsed_s=elapsed_s,
            time_left=self._time_left(run_state, parts, elapsed_s),
            overrides="" if planned is None else "; ".join(map(str, planned.plan.overrides)),
        )

    def _belongs(self, task: TaskRun) -> bool:
        """Return whether to show the task: all of round 0, and those of later rounds that have begun."""
        number = _round_of(task)
        if _step_of(task) == "start_load_machines" and task.state != "failed":
            return False
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
        """Read the cases with which the rounds continue, as far as decided."""
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

    def _row(self, task: TaskRun, elapsed_s: float) -> Row:
        step, number = _step_of(task), _round_of(task)
        cases = self._planned.study.cases if self._planned else []
        if step == "measure" and number:
            cases = self._cases_of_rounds.get(number, [])
        case = cases[task.map_index] if 0 <= task.map_index < len(cases) else None
        stored_at, decision = self._stored_at(task, case, elapsed_s), self._decision(task, case)
        return Row(step, number, case, task.state, stored_at, task.seconds, task, decision)

    def _decision(self, task: TaskRun, case: str | None) -> str:
        study = self._planned.study if self._planned else None
        if study is None or case is None or _step_of(task) != "confirm" or task.state != "success":
            return ""
        if case not in self._decisions:
            with suppress(ArtifactError, StoreError):
                key = self._keys.confirmation(case, "decision.json")
                decision = decode_record(self._store.get(key), key, Decision)
                self._decisions[case] = decision_line(decision, study.declaration)
        return self._decisions.get(case, "")

    def _stored_at(self, task: TaskRun, case: str | None, elapsed_s: float) -> tuple[datetime, ...] | None:
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
            return last.stored_at
        try:
            written = self._store.written_at(prefix)
        except StoreError:
            # Ignore failed counts: the steps wait for the store themselves and report their failure.
            return None if last is None else last.stored_at
        stored_at = tuple(sorted(when for key, when in written.items() if key.endswith(".json")))
        self._counts[prefix] = _Count(stored_at, task.state, elapsed_s)
        return stored_at

    def _time_left(self, run_state: str, parts: Sequence[Part], elapsed_s: float) -> TimeLeft | None:
        if self._planned is None or run_state != "running":
            return None
        now = self._clock()
        return time_left(self._planned, parts, self._cases_of_rounds, now - timedelta(seconds=elapsed_s), now)


def _step_of(task: TaskRun) -> str:
    return step_and_round(task.task_id)[0]


def _round_of(task: TaskRun) -> int:
    """Return the task's round; 0 without one."""
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
