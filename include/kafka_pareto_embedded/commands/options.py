"""Reads the options that `make` passes in the environment, so that no shell reads them (`make run SEED=7`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from kafka_pareto.errors import BadInputError, did_you_mean

PREFIX = "KAFKA_PARETO_OPTION_"

_RULES = {
    "missing": "is missing",
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be yes or no",
    "greater_than": "must be above 0",
    "greater_than_equal": "must not be below 0",
    "finite_number": "must be a number",
    "string_pattern_mismatch": "must be lower-case letters, digits, '-' or '_'",
}

AnyOptions = TypeVar("AnyOptions", bound=BaseModel)


def read_options(model: type[AnyOptions], target: str, environment: Mapping[str, str] = os.environ) -> AnyOptions:
    """Returns the options of one target of `make`; an empty one counts as not given.

    Args:
        model: The model whose fields are the options, in lower case.
        target: The target's name, for messages.
        environment: The variables that hold the options.

    Raises:
        BadInputError: If an option is missing, cannot be read, or does not belong to this target; one line for each.
    """
    said = {
        name.removeprefix(PREFIX): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip()
    }
    known = [name.upper() for name in model.model_fields]
    problems = [_unknown(name, value, known, target) for name, value in said.items() if name not in known]
    try:
        options = model.model_validate({name.lower(): said[name] for name in known if name in said})
    except ValidationError as error:
        problems += [
            _as_given(str(problem["loc"][0]).upper(), said) + _RULES.get(problem["type"], problem["msg"])
            for problem in error.errors()
        ]
    if problems:
        raise BadInputError("\n".join([*problems, "`make help` explains every target and its options"]))
    return options


def _unknown(name: str, value: str, known: list[str], target: str) -> str:
    remedy = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
    return f"{name}={value}: make {target} has no such option{remedy}"


def _as_given(name: str, said: Mapping[str, str]) -> str:
    return f"{name}={said[name]}: " if name in said else f"{name} "
