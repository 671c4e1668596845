"""Show the progress of a campaign: redrawn in place on a terminal, line by line elsewhere.

Ended and waiting tasks are grouped, to fit 24 lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kafka_pareto.analysis.wording import counted
from kafka_pareto.campaign.time_left import TimeLeft
from kafka_pareto.study.cases import case_label
from kafka_pareto_embedded.runs.progress import Progress, Row

_COUNT_EVERY_S = 10.0
_TIME_EVERY_S = 30.0  # without measurements
_BEGINS_WITHIN_S = 5.0
_STYLES = {
    "success": "green",
    "failed": "bold red",
    "running": "bold cyan",
    "up_for_retry": "yellow",
}
_BAR_WIDTH = 48
_WORDS = {
    "success": "done",
    "up_for_retry": "waiting for retry",
    "upstream_failed": "not reached",
    "scheduled": "waiting",
    "queued": "waiting",
}


class Display(Protocol):
    """Show progress and messages."""

    def show(self, progress: Progress) -> None:
        """Show the progress."""

    def say(self, text: str) -> None:
        """Print a message."""


@contextmanager
def open_display(console: Console) -> Iterator[Display]:
    """Yield the display that suits the console's output."""
    if console.is_terminal and not console.is_dumb_terminal:
        with Live(console=console, auto_refresh=False) as live:
            yield LiveDisplay(live)
    else:
        yield LineDisplay(console.file)


class LiveDisplay:
    """A table, redrawn in place, below the decisions so far."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._decisions: dict[str, str] = {}

    def show(self, progress: Progress) -> None:
        """Draw the table again, below new decisions."""
        for row in progress.rows:
            if row.decision and self._decisions.get(row.name) != row.decision:
                self._decisions[row.name] = row.decision
                self.say(f"{row.name}: {row.decision}")
        self._live.update(_drawn(progress), refresh=True)

    def say(self, text: str) -> None:
        """Print a message above the table."""
        self._live.console.print(text, style="bold", highlight=False, markup=False, soft_wrap=True)


class LineDisplay:
    """Print a line for each change of a task, for a queued run, and periodically the count; no control codes."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._states: dict[str, str] = {}
        self._counted_at_s = -_COUNT_EVERY_S  # print the plan immediately
        self._counted = -1
        self._queued_said = False

    def show(self, progress: Progress) -> None:
        """Print the changes."""
        queued = progress.run_state == "queued" and progress.elapsed_s > _BEGINS_WITHIN_S
        if queued and not self._queued_said:
            self._say(progress, _summary(progress))
        self._queued_said = queued
        for row in progress.rows:
            state = row.decision or state_text(row)
            if self._states.get(row.name, "waiting") != state:
                self._say(progress, f"{row.name}: {state}")
            self._states[row.name] = state
        is_planned = progress.repetitions_likely is not None and progress.run_state != "queued"
        since_s = progress.elapsed_s - self._counted_at_s
        counted = progress.repetitions != self._counted
        # Without a time left only the clock changes: a waiting run may wait for hours.
        is_due = since_s >= (_COUNT_EVERY_S if counted else _TIME_EVERY_S) and (
            counted or progress.time_left is not None
        )
        if is_planned and is_due:
            self._counted_at_s, self._counted = progress.elapsed_s, progress.repetitions
            self._say(progress, _summary(progress))

    def say(self, text: str) -> None:
        """Print a message."""
        print(text, file=self._file, flush=True)

    def _say(self, progress: Progress, text: str) -> None:
        print(f"[{duration(progress.elapsed_s):>8}] {text}", file=self._file, flush=True)


def duration(seconds: float) -> str:
    """Format seconds: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _drawn(progress: Progress) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("step", "records", "state"):
        table.add_column(heading, overflow="fold")
    for heading in ("repetitions", "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    lines, to_come = lines_of(progress.rows)
    for line in lines:
        table.add_row(
            line.step,
            line.cases,
            Text(line.state_text, style=_STYLES.get(line.state, "dim")),
            "" if line.repetitions is None else str(line.repetitions),
            "" if line.seconds is None else duration(line.seconds),
        )
    then = [Text(f"then {', '.join(to_come)}", style="dim")] if to_come else []
    return Group(table, *then, Text(), *_below(progress))


def _below(progress: Progress) -> list[RenderableType]:
    so_far = f"{duration(progress.elapsed_s)} so far"
    if progress.repetitions_likely is None:
        return [Text(f"{_summary(progress)}, {so_far}" if progress.run_state == "queued" else so_far)]
    bar = Table.grid()  # a bar does not end with a line break
    bar.add_row(ProgressBar(progress.repetitions_likely, progress.repetitions, width=_BAR_WIDTH))
    return [bar, Text(f"{_summary(progress)}, {so_far}")]


def _summary(progress: Progress) -> str:
    if progress.run_state == "queued":
        return "waiting for an earlier run"
    done, likely, most = progress.repetitions, progress.repetitions_likely, progress.repetitions_most
    if likely is None or most is None:
        return "no plan yet"
    if done >= likely:
        text = f"{counted(done, 'repetition')} done"
    elif likely == most:
        text = f"{done} of {most} repetitions"
    else:
        text = f"{done} of about {likely} repetitions (at most {most})"
    return text if progress.time_left is None else f"{text}, {time_left_text(progress.time_left)}"


def time_left_text(left: TimeLeft) -> str:
    """Format the time left: `about 8 min left (6 to 11 min)`, without a range for seconds or of one value."""
    if left.likely_s < 10:
        return "a few seconds left"
    if left.likely_s < 60:
        return f"about {round(left.likely_s / 5) * 5} s left"
    unit, seconds, decimals = ("min", 60, 0) if left.high_s < 2 * 3600 else ("h", 3600, 1)
    low, likely, high = (f"{each / seconds:.{decimals}f}" for each in (left.low_s, left.likely_s, left.high_s))
    return f"about {likely} {unit} left" + ("" if low == high else f" ({low} to {high} {unit})")


@dataclass(frozen=True)
class Line:
    """The content of one line; `state` is Airflow's, for the colour."""

    step: str
    cases: str
    state: str
    state_text: str
    repetitions: int | None
    seconds: float | None


def state_text(row: Row) -> str:
    """Return the row's state as text."""
    word = _WORDS.get(row.state, row.state)
    again = row.state == "running" and row.task.try_number > 1
    return f"{word}, try {row.task.try_number}" if again else word


def lines_of(rows: Sequence[Row]) -> tuple[list[Line], list[str]]:
    """Return the lines in the order of the rows (finished rounds, active steps), and the pending steps."""
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
    """Return a line for each active row, and one for all others of the same state."""
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
    """Return the seconds from the first start to the last end; None before the first start."""
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
