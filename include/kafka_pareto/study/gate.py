"""A study's section `gate`: the conditions for new settings, and how long they are measured."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kafka_pareto.study.objectives import Conditions
from kafka_pareto.study.section import Section


class Gate(Section):
    """Defines the check of a candidate's settings by `kafka-pareto gate`.

    `conditions` bound the candidate's objectives (`throughput_mib_s > 40`) or their ratio to the reference's
    (`p95_latency_ms < 1.05 * reference`); by default no mean may be worse by the confirmation's margin of harm. At most
    `blocks` of reference and candidate are measured for each case, fewer if they decide all conditions.
    """

    conditions: Conditions = Field(default_factory=list)
    blocks: Annotated[int, Field(ge=4)] = 30
