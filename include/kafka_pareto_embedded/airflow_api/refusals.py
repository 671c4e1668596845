"""Translate Airflow's refusal of a parameter into the command's option, its value and the rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafka_pareto.errors import did_you_mean
from kafka_pareto.study.options import MAKE_NAMES, PATTERN_RULES

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "string": "a text",
    "array": "a list",
}
# Airflow's sentence about a parameter, then jsonschema's: the error, the violated rule, and the rule's schema.
_REFUSAL = re.compile(
    r"Invalid input for param (\w+): (.*?)(?: Failed validating '(\w+)' in schema\S*: (.*?) On instance.*)?"
)


def in_words(detail: str, given: Mapping[str, Any]) -> str:
    """Return Airflow's refusal in one line as `OPTION=value: rule`; return other details unchanged."""
    found = _REFUSAL.fullmatch(detail)
    if found is None:
        return detail
    name, said, rule, schema = found.groups()
    value = given.get(name)
    shown = ",".join(map(str, value)) if isinstance(value, list) else value
    option = MAKE_NAMES.get(name, name.upper())
    if name not in given:
        return f"{option}: {said}"
    return f"{option}={shown}: {_rule(name, value, said, rule, schema or '')}"


def _rule(name: str, value: object, said: str, rule: str | None, schema: str) -> str:
    limit = re.search(rf"'{rule}': (\[.*?\]|'.*?'|[^,}}]+)", schema)
    bound = limit[1] if limit else ""
    choices = re.findall(r"'([^']*)'", bound)
    kinds = [_TYPES.get(each, each) for each in choices if each != "null"]
    rules = {
        "minimum": f"must be at least {bound}",
        "maximum": f"must be at most {bound}",
        "exclusiveMinimum": f"must be above {bound}",
        "maxLength": f"must have at most {bound} characters",
        "uniqueItems": "must not repeat a value",
        "enum": f"must be one of {', '.join(choices)}{did_you_mean(str(value), choices)}",
        "type": f"must be {' or '.join(kinds)}",
        "pattern": PATTERN_RULES.get(name, f"must match {bound}"),
    }
    return rules.get(rule or "", said)
