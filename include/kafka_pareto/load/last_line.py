"""Reads what our own load tools print last: one line of JSON."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from kafka_pareto.errors import LoadToolError

Amount = Annotated[FiniteFloat, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
_Output = TypeVar("_Output", bound=BaseModel)


class ToolOutput(BaseModel):
    """Is the base of what a tool of ours prints: unknown keys and wrong types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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
