"""Base, schema version and decoding of JSON artifacts."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kafka_pareto.errors import ArtifactError

SCHEMA_VERSION = 4
_LONGEST_QUOTE = 200


class Frozen(BaseModel):
    """Base of immutable values in records; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Record(Frozen):
    """Base of every JSON artifact."""

    schema_version: Literal[4] = 4


AnyRecord = TypeVar("AnyRecord", bound=Record)


def decode_record(content: bytes, key: str, model: type[AnyRecord]) -> AnyRecord:
    """Decode a JSON artifact named `key`; raises ArtifactError if damaged, invalid or of another schema version."""
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        wrong = error.errors()
        first = next((each for each in wrong if each["loc"] == ("schema_version",)), wrong[0])
        if first["loc"] == ("schema_version",):
            raise ArtifactError(other_version(key, first["input"])) from error
        place = ".".join(str(part) for part in first["loc"]) or "is not readable JSON"
        quoted = repr(first["input"])
        shown = quoted if len(quoted) <= _LONGEST_QUOTE else f"{quoted[:_LONGEST_QUOTE]}…"
        raise ArtifactError(f"{key}: {place}: {shown}: {first['msg']}") from error


def other_version(key: str, found: object) -> str:
    """Return the message for an artifact of another schema version."""
    return (
        f"{key}: schema_version {found}: this release reads version {SCHEMA_VERSION}; "
        "start a new campaign, or use the release that wrote it"
    )
