"""Read the variables that docker-compose.yaml sets for the containers that prepare something."""

from __future__ import annotations

import os

from kafka_pareto.errors import BadInputError


def required(name: str) -> str:
    """Return the variable's value.

    Raises:
        BadInputError: If it is not set, or empty.
    """
    value = os.environ.get(name)
    if not value:
        raise BadInputError(f"{name} is not set; run `make env`, then start the stack again")
    return value
