"""Base of every part of a study file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """Base of a study file's parts: immutable, with unknown keys and wrong types rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Texts:
    """Annotation of a list whose values are texts in files, read by `parse` and written by `str`."""

    parse: Callable[[str], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accept texts and parsed values."""
        texts = core_schema.list_schema(core_schema.str_schema(strict=True), strict=True)
        parsed = core_schema.no_info_after_validator_function(lambda found: [self.parse(text) for text in found], texts)
        return core_schema.no_info_before_validator_function(
            _as_texts, parsed, serialization=core_schema.plain_serializer_function_ser_schema(_as_texts)
        )


def _as_texts(given: Any) -> Any:
    return [str(each) if isinstance(each, BaseModel) else each for each in given] if isinstance(given, list) else given
