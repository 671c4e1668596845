"""Read a command's options: as typed, or from the environment, in which `make` passes them unread by a shell."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from kafka_pareto.command_line import with_options
from kafka_pareto.errors import BadInputError, did_you_mean
from kafka_pareto.study.options import COMMAND_ALIASES, AnyOptions, read_options
from kafka_pareto_embedded.terminal.as_typed import PREFIX, called_by_make, command_name, make_name


def command_options(
    model: type[AnyOptions], command: str, *positional: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give the command of this name the model's options."""
    read = partial(options_of, model, command, positional=positional)
    return with_options(model, command_name, read, positional, COMMAND_ALIASES)


def options_of(
    model: type[AnyOptions],
    command: str,
    typed: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    positional: Collection[str] = (),
) -> AnyOptions:
    """Return a command's options; an empty one from `make` counts as not given, and a typed one takes precedence.

    Raises:
        BadInputError: If an option is missing, cannot be read, or does not belong to this command; one line for each.
    """
    is_make = called_by_make(environment)
    made = {
        name.removeprefix(PREFIX): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value.strip()
    }
    known = {make_name(field): field for field in model.model_fields}
    problems = [_unknown(name, value, list(known), command) for name, value in made.items() if name not in known]
    by_make = {known[name]: made[name] for name in known if name in made}

    def written(name: str) -> str:
        is_typed = name not in positional and (name in typed or not is_make)
        return command_name(name) if is_typed else make_name(name)

    try:
        options = read_options(model, by_make | dict(typed), written)
    except BadInputError as error:
        problems.append(str(error))
    if problems:
        helps = f"options of make {command}: {', '.join(known)}" if is_make else f"see `kafka-pareto {command} --help`"
        raise BadInputError("\n".join([*problems, helps]))
    return options


def _unknown(name: str, value: str, known: list[str], command: str) -> str:
    fix = did_you_mean(name, known)
    return f"{name}={value}: make {command} has no such option{fix}"
