"""Puts Airflow's refusal of a parameter into the words of the commands: the option, its value, the rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafka_pareto.errors import did_you_mean

# Where `make` calls a parameter by another name than its own in capitals.
_OPTIONS = {"bootstrap_servers": "KAFKA", "client_config": "KAFKA_CONFIG", "case": "RECORD_SIZE"}
_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "string": "a text",
    "array": "a list",
}
_PATTERNS = {
    "campaign": "must be 1 to 63 letters, digits, '-' or '_'",
    "study": "must be lower-case letters, digits, '-' or '_'",
    "warm_start": "must be latest, or ids of campaigns like id,id",
    "bootstrap_servers": "must be like host:port,host:port",
    "client_config": "must be the name of a file, of letters, digits, '.', '-' or '_'",
    "factor": "must be the name of a setting, like linger.ms or bulk_max_size",
    "levels": "must be like 0,5,20 or none,lz4 or 60%,500/s, without a space at a comma",
    "configuration": "must be the id of a configuration, c and ten hexadecimal digits",
}
# Airflow's sentence about a parameter, then jsonschema's: what is wrong, which rule says so, and that rule's schema.
_REFUSAL = re.compile(
    r"Invalid input for param (\w+): (.*?)(?: Failed validating '(\w+)' in schema\S*: (.*?) On instance.*)?"
)


def in_words(detail: str, given: Mapping[str, Any]) -> str:
    """Returns the refusal as `OPTION=value: rule`; other details stay as they are.

    Args:
        detail: Airflow's own words, in one line.
        given: The parameters that were sent, by name.
    """
    found = _REFUSAL.fullmatch(detail)
    if found is None:
        return detail
    name, said, rule, schema = found.groups()
    value = given.get(name)
    shown = ",".join(map(str, value)) if isinstance(value, list) else value
    option = _OPTIONS.get(name, name.upper())
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
        "uniqueItems": "must name each once",
        "enum": f"must be one of {', '.join(choices)}{did_you_mean(str(value), choices)}",
        "type": f"must be {' or '.join(kinds)}",
        "pattern": _PATTERNS.get(name, f"must match {bound}"),
    }
    return rules.get(rule or "", said)
