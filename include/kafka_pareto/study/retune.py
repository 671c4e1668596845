"""A study's section `retune`: when the active settings are checked, and what counts as drift."""

from __future__ import annotations

from typing import Annotated

from croniter import croniter
from pydantic import Field, field_validator

from kafka_pareto.study.section import Count, Section

SCHEDULE_PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")


class Retune(Section):
    """Plans the checks of `retune_producer`: `blocks` of the active settings and the baseline.

    Without a `schedule` (a cron expression or an Airflow preset) checks run only by hand or by an asset event. Drift:
    the ratio of the two changed by more than `drift_fraction` (default: the confirmation's `wanted_effect_fraction`). A
    check by the study's own DAG that exceeds `deadline_minutes` causes a notice; one by `retune_producer`, after an
    hour. With `approval`, a person must approve the recommendation of the tuning that follows.
    """

    schedule: str | None = None
    blocks: Annotated[int, Field(ge=2)] = 10
    drift_fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    deadline_minutes: Count = 60
    approval: bool = False

    @field_validator("schedule")
    @classmethod
    def _is_a_schedule(cls, schedule: str | None) -> str | None:
        if schedule is None or schedule in SCHEDULE_PRESETS:
            return schedule
        if len(schedule.split()) != 5 or not croniter.is_valid(schedule):
            presets = ", ".join(SCHEDULE_PRESETS)
            raise ValueError(f"must be cron text of five fields, like '0 3 * * 0', or one of {presets}")
        return schedule
