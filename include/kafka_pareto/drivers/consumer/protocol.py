"""Defines the consumer's protocol: how one repetition reads, and how it follows a producer."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.section import Section


class Live(Section):
    """Lets the group read what a producer sends meanwhile, at this rate, for `seconds` after the warm-up."""

    rate_records_s: Annotated[float, Field(gt=0)]
    seconds: Annotated[float, Field(gt=0)]


class ConsumerProtocol(Protocol):
    """Adds how one repetition reads: first all that the topic holds, unthrottled; then, with `live`, what is sent.

    Either part has a group and a process of its own. `warmup_seconds` of each do not count. `timeout_s` limits each
    part, from the start of its process to the end.
    """

    warmup_seconds: Annotated[float, Field(ge=0)] = 1.0
    live: Live | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 120.0

    _not_of_a_repetition: ClassVar[frozenset[str]] = Protocol._not_of_a_repetition | {"timeout_s"}

    @model_validator(mode="after")
    def _ends_before_its_timeout(self) -> Self:
        if self.live is not None and self.timeout_s <= self.warmup_seconds + self.live.seconds:
            raise ValueError(
                f"timeout_s {self.timeout_s:g} must be above warmup_seconds and live.seconds, "
                f"{self.warmup_seconds + self.live.seconds:g}"
            )
        return self
