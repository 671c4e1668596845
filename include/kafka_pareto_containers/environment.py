"""Run a container's preparation with the variables set in docker-compose.yaml."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from kafka_pareto.errors import BadInputError, KafkaParetoError


def required(name: str) -> str:
    """Return the variable's value.

    Raises:
        BadInputError: If it is not set, or empty.
    """
    value = os.environ.get(name)
    if not value:
        raise BadInputError(f"{name} is not set; run `make env`, then start the stack again")
    return value


def run(prepare: Callable[[], None], done: str) -> None:
    """Run the preparation and print a message when it is done; exit with the error's code if it fails."""
    try:
        prepare()
    except KafkaParetoError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(done)
