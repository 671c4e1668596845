"""Summarises a run's tasks in few lines: ended and waiting ones are put together, so that 24 lines are enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from kafka_pareto.study.cases import case_label
from kafka_pareto_embedded.runs.progress import Row

_WORDS = {
    "success": "done",
    "up_for_retry": "waits for its retry",
    "upstream_failed": "not reached",
    "scheduled": "waiting",
    "queued": "waiting",
}


@dataclass(frozen=True)
class Line:
    """Holds the content of one line; `state` is Airflow's, for the colour."""

    step: str
    cases: str
    state: str
    state_text: str
    repetitions: int | None
    seconds: float | None


def state_text(row: Row) -> str:
    """Returns the row's state in words."""
    word = _WORDS.get(row.state, row.state)
    again = row.state == "running" and row.task.try_number > 1
    return f"{word}, try {row.task.try_number}" if again else word


def lines_of(rows: Sequence[Row]) -> tuple[list[Line], list[str]]:
    """Returns the lines in the order of the rows (rounds that are over, steps at work), and the steps still to come."""
    begun = [row for row in rows if row.has_begun]
    last_begun = max((_part(row) for row in begun), default=(False, 0))
    lines: list[Line] = []
    for part, grouped in groupby(rows, _part):
        of_part = list(grouped)
        if part < last_begun and all(row.has_ended_well for row in of_part) and len(of_part) > 1:
            lines.append(_together(f"round {part[1]}" if part[1] else "design and first fit", of_part))
        else:
            lines += [line for _, steps in groupby(of_part, lambda row: row.step_name) for line in _of_step(steps)]
    return _without_the_rest(lines)


def _part(row: Row) -> tuple[bool, int]:
    return row.is_after_the_rounds, row.round_number


def _of_step(rows: Iterable[Row]) -> list[Line]:
    """Returns a line for each row at work, and one for all others of the same state."""
    lines = []
    for _, grouped in groupby(rows, state_text):
        same = list(grouped)
        if same[0].state in ("running", "failed"):
            lines += [_together(row.step_name, [row]) for row in same]
        else:
            lines.append(_together(same[0].step_name, same))
    return lines


def _together(name: str, rows: Sequence[Row]) -> Line:
    cases = {row.case for row in rows if row.case is not None}
    counted = [row.repetitions for row in rows if row.repetitions is not None]
    return Line(
        step=name,
        cases=f"{len(cases)} sizes" if len(cases) > 1 else "".join(map(case_label, cases)),
        state=rows[-1].state,
        state_text=state_text(rows[-1]),
        repetitions=sum(counted) if counted else None,
        seconds=_span_s(rows),
    )


def _span_s(rows: Sequence[Row]) -> float | None:
    """Returns the seconds from the first begin to the last end; None if nothing has begun."""
    begun = [(row.task.started_at, row.seconds) for row in rows if row.task.started_at and row.seconds is not None]
    if not begun:
        return None
    first = min(at for at, _ in begun)
    return max((at - first).total_seconds() + seconds for at, seconds in begun)


def _without_the_rest(lines: list[Line]) -> tuple[list[Line], list[str]]:
    shown = len(lines)
    while shown and lines[shown - 1].state_text == "waiting":
        shown -= 1
    return lines[:shown], list(dict.fromkeys(line.step for line in lines[shown:]))
