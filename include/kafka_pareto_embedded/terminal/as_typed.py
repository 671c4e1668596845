"""Print commands and options in the user's form: `make` or `kafka-pareto`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kafka_pareto.command_line import flag
from kafka_pareto.study.options import COMMAND_ALIASES, COMMAND_NAMES, MAKE_NAMES
from kafka_pareto.study.requests import (
    ActiveRequest,
    AuditRequest,
    DoctorRequest,
    IngestRequest,
    RollBackRequest,
    RunRequest,
    SizingOptions,
)

PREFIX = "KAFKA_PARETO_OPTION_"
_MODELS = (RunRequest, RollBackRequest, ActiveRequest, IngestRequest, DoctorRequest, AuditRequest, SizingOptions)


def called_by_make(environment: Mapping[str, str]) -> bool:
    """Return whether `make` is the caller: it passes every option, empty if not given."""
    return any(name.startswith(PREFIX) for name in environment)


def command_name(option: str) -> str:
    """Return the option's name in the command."""
    return flag(COMMAND_NAMES.get(option, option))


def make_name(option: str) -> str:
    """Return the option's name in `make`."""
    return MAKE_NAMES.get(option, option.upper())


_POSITIONAL = ("study", "file", "topic")
_AS_TYPED = {"--case": "--record-size", "--study": "STUDY"} | {
    make_name(option): next(iter(COMMAND_ALIASES.get(option, [command_name(option)])))
    for model in _MODELS
    for option in model.model_fields
    if option not in _POSITIONAL
}
# Not what a message quotes of a file, like a column KEY, and no part of a path.
_NAMED = re.compile(rf"(?<![\w'/.-])({'|'.join(sorted(_AS_TYPED, key=len, reverse=True))})(=yes|=)?(?![\w'/-]|\.\w)")
_TARGETS = "run rollback retune active ingest remove-topics doctor audit sizing up down status backup restore clean"
_COMMAND = re.compile(rf"\bmake ({'|'.join(_TARGETS.split())})(?![\w-])(?: STUDY=(?=\S))?")


def as_typed(message: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a message with commands and options as typed; unchanged if `make` is the caller.

    The library uses `make`'s names of commands and options, and a step uses its own argument.
    """
    if called_by_make(environment):
        return message
    named = _COMMAND.sub(_typed_command, message)
    return _NAMED.sub(lambda found: _AS_TYPED[found[1]] + (found[2] if found[2] not in (None, "=yes") else ""), named)


def _typed_command(found: re.Match[str]) -> str:
    has_study = found[0].endswith("=")
    return f"kafka-pareto {found[1]}{' ' if has_study else ''}"
