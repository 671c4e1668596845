"""A study's section `retune`: when the settings in force are checked, and what counts as drift."""

from __future__ import annotations

from typing import Annotated

from croniter import croniter
from pydantic import Field, field_validator

from kafka_pareto.study.section import Count, Section

SCHEDULE_PRESETS = ("@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly")


class Retune(Section):
    """Plans how `retune_producer` checks the settings in force, in `blocks` of them and of the baseline.

    Without a `schedule` (a cron expression or an Airflow preset) a check runs only by hand or by an asset event. Drift
    is a change of the ratio of the two by more than `drift_fraction`; the default is the confirmation's
    `wanted_effect_fraction`. A notice is sent when a scheduled check takes longer than `deadline_minutes` (one by hand
    or by an event: an hour). With `approval`, a recommendation of the subsequent tuning becomes active only after
    somebody has approved it.
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
