"""The progress of a campaign on the screen: redrawn in place on a terminal, line by line elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kafka_pareto_embedded.progress import Progress, Row

_COUNT_EVERY_S = 10.0
_STYLES = {"success": "green", "failed": "bold red", "running": "bold cyan", "up_for_retry": "yellow"}
_WORDS = {
    "success": "done",
    "up_for_retry": "waits for its retry",
    "upstream_failed": "not reached",
    "scheduled": "waiting",
    "queued": "waiting",
}


class Display(Protocol):
    """Shows each progress that it is given, between entering and leaving."""

    def show(self, progress: Progress) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_display(console: Console) -> Display:
    """The display that suits where the console writes to."""
    return LiveDisplay(console) if console.is_terminal else LineDisplay(console)


class LiveDisplay:
    """A table that is redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False)

    def show(self, progress: Progress) -> None:
        self._live.update(_drawn(progress), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)


class LineDisplay:
    """One line for each change of a task, and the count of repetitions now and then; no control codes."""

    def __init__(self, console: Console) -> None:
        self._file = console.file
        self._states: dict[str, str] = {}
        self._counted_at_s = 0.0
        self._counted = 0

    def show(self, progress: Progress) -> None:
        for row in progress.rows:
            state = _state(row)
            if self._states.get(row.name, "waiting") != state:
                self._say(progress, f"{row.name}: {state}")
            self._states[row.name] = state
        due = progress.elapsed_s - self._counted_at_s >= _COUNT_EVERY_S
        if due and progress.repetitions != self._counted:
            self._counted_at_s, self._counted = progress.elapsed_s, progress.repetitions
            self._say(progress, _summary(progress))

    def _say(self, progress: Progress, text: str) -> None:
        print(f"[{duration(progress.elapsed_s):>8}] {text}", file=self._file, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def duration(seconds: float) -> str:
    """Seconds as people say them: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _drawn(progress: Progress) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for heading in ("step", "record size", "state"):
        table.add_column(heading)
    for heading in ("repetitions", "time"):
        table.add_column(heading, justify="right")
    for row in progress.rows:
        table.add_row(
            row.step_name,
            "" if row.record_size_bytes is None else f"{row.record_size_bytes} B",
            Text(_state(row), style=_STYLES.get(row.state, "dim")),
            "" if row.repetitions is None else str(row.repetitions),
            "" if row.seconds is None else duration(row.seconds),
        )
    bar = ProgressBar(total=progress.repetitions_planned or 1, completed=progress.repetitions, width=48)
    return Group(table, bar, Text(f"{_summary(progress)}, {duration(progress.elapsed_s)} so far"))


def _state(row: Row) -> str:
    word = _WORDS.get(row.state, row.state)
    again = row.state == "running" and row.task.try_number > 1
    return f"{word}, try {row.task.try_number}" if again else word


def _summary(progress: Progress) -> str:
    if progress.run_state == "queued":
        return "waits for the campaign that runs before it"
    if progress.repetitions_planned is None:
        return "no plan yet"
    if progress.repetitions >= progress.repetitions_planned:
        return f"{progress.repetitions} repetitions"
    text = f"{progress.repetitions} of at most {progress.repetitions_planned} repetitions"
    return text if progress.time_left_s is None else f"{text}, up to {duration(progress.time_left_s)} left"
