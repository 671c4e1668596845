"""Reads what our own load tools print last: one line of JSON."""

from __future__ import annotations

from typing import Annotated, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from kafka_pareto.errors import LoadToolError

Amount = Annotated[FiniteFloat, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
_Output = TypeVar("_Output", bound=BaseModel)


class ToolOutput(BaseModel):
    """Is the base of what a tool of ours prints: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LatencyUs(ToolOutput):
    """Holds a latency histogram's figures, in microseconds."""

    mean: Amount
    standard_deviation: Amount
    p50: Amount
    p75: Amount
    p90: Amount
    p95: Amount
    p99: Amount
    p999: Amount
    p9999: Amount
    max: Amount

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        ladder = [self.p50, self.p75, self.p90, self.p95, self.p99, self.p999, self.p9999, self.max]
        if ladder != sorted(ladder):
            raise ValueError("the percentiles must not fall")
        return self


def read_last_line(text: str, output: type[_Output], tool: str) -> _Output:
    """Returns the last line of a tool's standard output.

    Args:
        text: All that it printed.
        output: What the line is to hold.
        tool: As messages name it.

    Raises:
        LoadToolError: If there is none, it is not such JSON, or its numbers do not add up.
    """
    lines = text.strip().splitlines()
    if not lines:
        raise LoadToolError(f"{tool} printed nothing")
    try:
        return output.model_validate_json(lines[-1])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the last line"
        raise LoadToolError(
            f"the output of {tool} cannot be read: {place}: {first['msg']}; it ends with: {lines[-1][-200:]!r}"
        ) from error
