"""Critical rules of the suite `valid_repetitions`, evaluated here since Great Expectations takes seconds to load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kafka_pareto.campaign.records import Repetition
from kafka_pareto.campaign.suites import Expectation, suites_of
from kafka_pareto.campaign.tables import repetition_row
from kafka_pareto.errors import BadInputError
from kafka_pareto.study.study import Study

SUITE = "valid_repetitions"
_KNOWN_ARGUMENTS = {
    "expect_column_values_to_not_be_null": {"column"},
    "expect_column_values_to_be_between": {"column", "min_value", "max_value", "strict_min"},
    "expect_column_pair_values_to_be_equal": {"column_A", "column_B", "ignore_row_if"},
    "expect_column_pair_values_a_to_be_greater_than_b": {"column_A", "column_B", "ignore_row_if", "or_equal"},
}
_FIXED_ARGUMENTS = {"or_equal": True, "ignore_row_if": "either_value_is_missing"}


class PlausibilityRules:
    """A suite's critical rules for one study; raises BadInputError if Great Expectations judges one differently."""

    def __init__(self, study: Study, suite: Sequence[Expectation] | None = None) -> None:
        self._study = study
        parameters = study.rule_parameters()
        self._asked = [
            asked
            for rule in (suites_of(study.declaration)[SUITE] if suite is None else suite)
            if rule.severity == "critical"
            for asked in rule.configurations(parameters)
        ]
        for asked in self._asked:
            _require_known(asked["type"], asked["kwargs"], asked["meta"]["name"])

    def with_implausible_failed(self, repetition: Repetition) -> Repetition:
        """Return the repetition, marked as failed if it was valid and breaks rules; the reason names all of them."""
        if repetition.outcome != "valid":
            return repetition
        row = repetition_row(repetition)
        values = {**row, **self._study.derived_values(row)}
        broken = [asked for asked in self._asked if _is_broken(asked["type"], asked["kwargs"], values)]
        if not broken:
            return repetition
        names = list(dict.fromkeys(asked["meta"]["name"] for asked in broken))
        reason = "; ".join(asked["notes"] for asked in broken)
        return repetition.model_copy(update={"outcome": "failed", "reason": reason, "broken_rules": names})


def _is_broken(expectation_type: str, kwargs: dict[str, Any], values: dict[str, Any]) -> bool:
    """Return whether Great Expectations would reject the values; a missing value breaks only a presence check."""
    if expectation_type == "expect_column_values_to_not_be_null":
        return _is_missing(values[kwargs["column"]])
    if expectation_type == "expect_column_values_to_be_between":
        value, low, high = values[kwargs["column"]], kwargs.get("min_value", -math.inf), kwargs.get("max_value")
        if _is_missing(value):
            return False
        too_low = value <= low if kwargs.get("strict_min") else value < low
        return bool(too_low or (high is not None and value > high))
    first, second = values[kwargs["column_A"]], values[kwargs["column_B"]]
    if _is_missing(first) or _is_missing(second):
        return False
    return bool(first != second if expectation_type.endswith("equal") else first < second)


def _require_known(expectation_type: str, kwargs: dict[str, Any], name: str) -> None:
    """Reject a critical rule that this evaluator would judge differently."""
    rule = f"critical rule {name} of {SUITE}"
    if expectation_type not in _KNOWN_ARGUMENTS:
        raise BadInputError(f"{rule}: {expectation_type}: must be one of {', '.join(_KNOWN_ARGUMENTS)}")
    if unknown := sorted(set(kwargs) - _KNOWN_ARGUMENTS[expectation_type]):
        raise BadInputError(f"{rule}: {expectation_type}: {unknown[0]}: is not supported by campaign.plausibility")
    for argument, value in _FIXED_ARGUMENTS.items():
        if kwargs.get(argument, value) != value:
            raise BadInputError(f"{rule}: {expectation_type}: {argument}: {kwargs[argument]!r}: must be {value!r}")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
