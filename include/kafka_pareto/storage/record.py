"""Reads JSON artifacts, and holds their common base and schema version.

This release writes version 4. It also reads version 3, in which every case was a record size and was named so.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from kafka_pareto.errors import ArtifactError

SCHEMA_VERSION = 4
READ_VERSIONS = (3, SCHEMA_VERSION)
_LONGEST_QUOTE = 200


class Record(BaseModel):
    """Is the base of every JSON artifact; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[4] = 4


AnyRecord = TypeVar("AnyRecord", bound=Record)


def decode_record(content: bytes, key: str, model: type[AnyRecord]) -> AnyRecord:
    """Reads a JSON artifact; `key` names it in messages.

    Raises:
        ArtifactError: If it is damaged, of a schema version that is not read, or breaks its schema.
    """
    return decode_versioned(content, key, model)[0]


def decode_versioned(content: bytes, key: str, model: type[AnyRecord]) -> tuple[AnyRecord, int]:
    """Reads a JSON artifact, and the schema version that it was stored with.

    Raises:
        ArtifactError: If it is damaged, of a schema version that is not read, or breaks its schema.
    """
    try:
        try:
            return model.model_validate_json(content), SCHEMA_VERSION
        except ValidationError:
            found = _json_object(content)
            if found.get("schema_version") != READ_VERSIONS[0]:
                raise
            return model.model_validate_json(json.dumps(_from_version_3(found))), READ_VERSIONS[0]
    except ValidationError as error:
        wrong = error.errors()
        first = next((each for each in wrong if each["loc"] == ("schema_version",)), wrong[0])
        if first["loc"] == ("schema_version",):
            raise ArtifactError(other_version(key, first["input"])) from error
        place = ".".join(str(part) for part in first["loc"]) or "is no readable JSON"
        quoted = repr(first["input"])
        shown = quoted if len(quoted) <= _LONGEST_QUOTE else f"{quoted[:_LONGEST_QUOTE]}…"
        raise ArtifactError(f"{key}: {place}: {shown}: {first['msg']}") from error


def other_version(key: str, found: object) -> str:
    """Returns the message about an artifact that another release wrote."""
    return (
        f"{key}: schema_version {found}: this release reads versions {' and '.join(map(str, READ_VERSIONS))}; "
        "start a new campaign, or use the release that wrote it"
    )


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _from_version_3(found: Any) -> Any:
    """Renames record sizes to cases, at every depth."""
    if isinstance(found, list):
        return [_from_version_3(each) for each in found]
    if not isinstance(found, dict):
        return found
    renamed = {name: _from_version_3(value) for name, value in found.items()}
    if "schema_version" in renamed:  # records may hold records
        renamed["schema_version"] = SCHEMA_VERSION
    if "record_size_bytes" in renamed:
        size = renamed.pop("record_size_bytes")
        renamed["case"] = None if size is None else str(size)
    if "record_sizes_bytes" in renamed:
        renamed["cases"] = [str(size) for size in renamed.pop("record_sizes_bytes")]
    if "record_sizes" in renamed:
        renamed["cases"] = renamed.pop("record_sizes")
    return renamed
