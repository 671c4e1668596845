"""Read a command's options: as typed, or as `make` passes them in the environment, so that no shell reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from kafka_pareto.command_line import flag, with_options
from kafka_pareto.errors import BadInputError, did_you_mean
from kafka_pareto.study.options import MAKE_NAMES, AnyOptions, read_options
from kafka_pareto.study.requests import (
    ActiveRequest,
    DoctorRequest,
    IngestRequest,
    RollBackRequest,
    RunRequest,
    SizingOptions,
)

PREFIX = "KAFKA_PARETO_OPTION_"
_SHORT_NAMES = {
    "bootstrap_servers": "kafka",
    "client_config": "config",
    "kafka_config": "config",
    "consent": "yes",
    "case": "record_size",
}


_MODELS = (RunRequest, RollBackRequest, ActiveRequest, IngestRequest, DoctorRequest, SizingOptions)


def command_options(
    model: type[AnyOptions], command: str, *positional: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give the command of this name the model's options."""
    return with_options(model, command_name, partial(options_of, model, command, positional=positional), positional)


def options_of(
    model: type[AnyOptions],
    command: str,
    typed: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
    positional: Collection[str] = (),
) -> AnyOptions:
    """Return a command's options; one that `make` passes empty counts as not given, and what was typed goes before.

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
        helps = "`make help` explains every target" if is_make else f"`kafka-pareto {command} --help` explains it"
        raise BadInputError("\n".join([*problems, f"{helps} and its options"]))
    return options


def called_by_make(environment: Mapping[str, str]) -> bool:
    """Return whether `make` has called, which passes every option, empty where it was not given."""
    return any(name.startswith(PREFIX) for name in environment)


def command_name(option: str) -> str:
    """Return what the command calls the option."""
    return flag(_SHORT_NAMES.get(option, option))


def make_name(option: str) -> str:
    """Return what `make` calls the option."""
    return MAKE_NAMES.get(option, option.upper())


_POSITIONAL = ("study", "file", "topic")
_AS_TYPED = {"--bootstrap-servers": "--kafka", "--case": "--record-size", "--study": "STUDY"} | {
    make_name(option): command_name(option)
    for model in _MODELS
    for option in model.model_fields
    if option not in _POSITIONAL
}
_NAMED = re.compile(rf"(?<![\w-])({'|'.join(sorted(_AS_TYPED, key=len, reverse=True))})(=yes|=)?(?![\w-])")


def as_typed(message: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a message with options as they are typed; unchanged where `make` passed them.

    The library names an option as `make` does, and a step as the step's own argument.
    """
    if called_by_make(environment):
        return message
    return _NAMED.sub(lambda found: _AS_TYPED[found[1]] + (found[2] if found[2] not in (None, "=yes") else ""), message)


def _unknown(name: str, value: str, known: list[str], command: str) -> str:
    fix = did_you_mean(name, known) or f"; it takes {', '.join(known)}"
    return f"{name}={value}: make {command} has no such option{fix}"
