"""JSON artifacts: their common base, schema version and reader."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kafka_pareto.errors import ArtifactError

SCHEMA_VERSION = 3
_LONGEST_QUOTE = 200


class Record(BaseModel):
    """A JSON artifact; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[3] = 3


AnyRecord = TypeVar("AnyRecord", bound=Record)


def decode_record(content: bytes, key: str, model: type[AnyRecord]) -> AnyRecord:
    """Reads a JSON artifact; `key` names it in messages.

    Raises:
        ArtifactError: If it is damaged, of another schema version, or breaks its schema.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["loc"] == ("schema_version",):
            raise ArtifactError(other_version(key, first["input"])) from error
        place = ".".join(str(part) for part in first["loc"]) or "is no readable JSON"
        found = repr(first["input"])
        shown = found if len(found) <= _LONGEST_QUOTE else f"{found[:_LONGEST_QUOTE]}…"
        raise ArtifactError(f"{key}: {place}: {shown}: {first['msg']}") from error


def other_version(key: str, found: object) -> str:
    """The message of an artifact that another release wrote."""
    return (
        f"{key}: schema_version {found}: this release reads version {SCHEMA_VERSION}; "
        "start a new campaign, or use the release that wrote it"
    )
