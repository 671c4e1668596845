"""Expectation suites as data, without Great Expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.declaration import Driver

OF_EVERY_DRIVER = Path(__file__).with_name("expectations.yaml")

Severity = Literal["critical", "warning"]


class Expectation(BaseModel):
    """One entry of a suite file (format in its header); `$` parameters may be mappings with one value per column."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str
    type: str
    columns: list[str] | str = []
    kwargs: dict[str, Any] = {}
    severity: Severity = "critical"
    reason: str

    def configurations(self, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the configurations for Great Expectations: one, or one per column."""
        columns: Sequence[str | None] = (
            parameters[self.columns[1:]] if isinstance(self.columns, str) else self.columns or [None]
        )
        return [self._configuration(column, parameters) for column in columns]

    def _configuration(self, column: str | None, parameters: Mapping[str, Any]) -> dict[str, Any]:
        kwargs: dict[str, Any] = {} if column is None else {"column": column}
        for key, value in self.kwargs.items():
            kwargs[key] = value
            if isinstance(value, str) and value.startswith("$"):
                given = parameters[value[1:]]
                kwargs[key] = given[column] if isinstance(given, Mapping) else given
        if "column_A" in kwargs:
            # Missing values concern only the presence expectation.
            kwargs["ignore_row_if"] = "either_value_is_missing"
        reason = f"{column} {self.reason}" if column else self.reason
        meta = {"name": self.name, "column": column, "reason": reason}
        return {"type": self.type, "kwargs": kwargs, "severity": self.severity, "meta": meta, "notes": reason}


@cache
def suites_of(driver: Driver, of_every_driver: Path = OF_EVERY_DRIVER) -> Mapping[str, list[Expectation]]:
    """Read the suites for a driver's repetitions: the common ones and its additions."""
    common, own = load_suites(of_every_driver), load_suites(driver.expectations)
    suites = {name: [*common.get(name, []), *own.get(name, [])] for name in dict.fromkeys((*common, *own))}
    for suite, expectations in suites.items():
        _require_unique(expectations, f"{driver.expectations}: {suite}")
    return suites


def load_suites(path: Path) -> dict[str, list[Expectation]]:
    """Read a file of suites as expectations by name."""
    try:
        suites = TypeAdapter(dict[str, list[Expectation]]).validate_python(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise BadInputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInputError(f"{path}: {place}: {first['msg']}") from error
    for suite, expectations in suites.items():
        _require_unique(expectations, f"{path}: {suite}")
    return suites


def _require_unique(expectations: Sequence[Expectation], place: str) -> None:
    names = [expectation.name for expectation in expectations]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInputError(f"{place}: {', '.join(twice)}: names must be unique")
