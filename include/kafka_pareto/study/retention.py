"""A study's section `retention`: how long its campaigns are kept."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kafka_pareto.study.section import Count, Section

_LEAST_DAYS = 30  # campaigns may wait for the cluster, and recommendations for an answer


class Retention(Section):
    """Limits how long campaigns are kept. Without this section, all are.

    The DAG `clean_up` deletes those last written to more than `days` ago (30 or more), except the `campaigns` newest
    reported ones, those behind the active settings and the version before, those that answered a check, and those named
    for a warm start.
    """

    days: Annotated[int, Field(ge=_LEAST_DAYS)]
    campaigns: Count = 1
