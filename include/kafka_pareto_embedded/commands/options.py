"""Read the options that `make` passes in the environment, so that no shell reads them (`make run SEED=7`)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kafka_pareto.errors import BadInputError, did_you_mean
from kafka_pareto.study.options import MAKE_NAMES, AnyOptions, read_options

PREFIX = "KAFKA_PARETO_OPTION_"


def options_of_make(model: type[AnyOptions], target: str, environment: Mapping[str, str] = os.environ) -> AnyOptions:
    """Return the options of one target of `make`; an empty one counts as not given.

    Raises:
        BadInputError: If an option is missing, cannot be read, or does not belong to this target; one line for each.
    """
    said = {
        name.removeprefix(PREFIX): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip()
    }
    known = {make_name(field): field for field in model.model_fields}
    problems = [_unknown(name, value, list(known), target) for name, value in said.items() if name not in known]
    try:
        options = read_options(model, {known[name]: said[name] for name in known if name in said}, make_name)
    except BadInputError as error:
        problems.append(str(error))
    if problems:
        raise BadInputError("\n".join([*problems, "`make help` explains every target and its options"]))
    return options


def make_name(option: str) -> str:
    """Return what `make` calls the option."""
    return MAKE_NAMES.get(option, option.upper())


def _unknown(name: str, value: str, known: list[str], target: str) -> str:
    remedy = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
    return f"{name}={value}: make {target} has no such option{remedy}"
