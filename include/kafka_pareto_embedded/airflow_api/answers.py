"""Types of Airflow's API responses: the fields that this project reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

PARTS = ("metadatabase", "scheduler", "dag_processor", "triggerer")


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class PartHealth(_Answer):
    """The status of one part of Airflow; None before its first heartbeat."""

    status: str | None = None


class Health(_Answer):
    """The status of all parts of Airflow."""

    metadatabase: PartHealth | None = None
    scheduler: PartHealth | None = None
    dag_processor: PartHealth | None = None
    triggerer: PartHealth | None = None

    def is_good(self, parts: Collection[str] = PARTS) -> bool:
        """Return whether all of these parts are healthy."""
        found: list[PartHealth | None] = [getattr(self, part) for part in parts]
        return all(part is not None and part.status == "healthy" for part in found)


class Dag(_Answer):
    """A DAG that the DAG processor has read."""

    dag_id: str
    is_paused: bool
    file_token: str
    next_dagrun_run_after: datetime | None = None


class ImportFailure(_Answer):
    """A DAG file that cannot be imported."""

    filename: str
    stack_trace: str

    @property
    def last_line(self) -> str:
        """Return the last line of the stack trace."""
        return self.stack_trace.strip().splitlines()[-1]


class DagRun(_Answer):
    """A DAG run: `queued`, `running`, `success` or `failed`."""

    dag_run_id: str
    state: str
    conf: dict[str, Any] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the run's parameters; empty if it has none."""
        return self.conf or {}

    @property
    def has_ended(self) -> bool:
        """Return whether the run has succeeded or failed."""
        return self.state in ("success", "failed")


@dataclass(frozen=True)
class TaskRun:
    """One task of a run. A mapped task has an index in mapping order and, once started, a label."""

    task_id: str
    map_index: int
    state: str
    try_number: int
    started_at: datetime | None
    ended_at: datetime | None
    label: str | None = None
    pool: str | None = None
    queue: str | None = None
    hostname: str | None = None

    @classmethod
    def of(cls, answer: dict[str, Any]) -> TaskRun:
        """Parse a response; a task without a state is `waiting`."""
        return cls(
            task_id=answer["task_id"],
            map_index=answer["map_index"],
            state=answer["state"] or "waiting",
            try_number=answer["try_number"],
            started_at=_time(answer["start_date"]),
            ended_at=_time(answer["end_date"]),
            label=answer["rendered_map_index"],
            pool=answer["pool"],
            queue=answer["queue"],
            hostname=answer["hostname"],
        )

    @property
    def seconds(self) -> float | None:
        """Return the task's duration so far; None before its start."""
        if self.started_at is None:
            return None
        return ((self.ended_at or datetime.now(UTC)) - self.started_at).total_seconds()


def log_texts(line: str | dict[str, Any]) -> list[str]:
    """Return a log line's text, with the exception's text if Airflow logged one; without fold marks."""
    if isinstance(line, str):
        return [line]
    raised = [f"{error['exc_type']}: {error['exc_value']}" for error in line.get("error_detail") or []]
    return [text for text in (str(line["event"]), *raised) if not text.startswith("::")]


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
