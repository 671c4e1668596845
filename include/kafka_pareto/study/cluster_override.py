"""Lets a campaign name another cluster than its study does, or send less to it."""

from __future__ import annotations

import math
from typing import Any

from kafka_pareto.errors import BadInputError
from kafka_pareto.study.cluster_names import server_set
from kafka_pareto.study.sections import ForeignCluster

_CEILINGS = ("ceiling_mib_s", "ceiling_gib")


def cluster_with(
    of_the_study: ForeignCluster | None, given: dict[str, Any], servers_of_others: str = ""
) -> ForeignCluster | None:
    """Returns the cluster that the options name, or the study's own with the options' changes; None if neither.

    The study's ceilings are the most that a campaign may send. Its consent is for its own brokers alone.

    Args:
        of_the_study: The study's own.
        given: The options by name.
        servers_of_others: What is loaded where neither names a cluster, if others may depend on it.

    Raises:
        BadInputError: If a ceiling is missing, or above the study's own.
    """
    known = of_the_study.model_dump() if of_the_study else {}
    for name in _CEILINGS:
        if given.get(name, 0) > known.get(name, math.inf):
            raise BadInputError(
                f"--{name.replace('_', '-')}={given[name]:g}: the study's cluster.{name} is {known[name]:g}; "
                "a campaign may lower a ceiling, only the study's file may raise it"
            )
    if server_set(given.get("bootstrap_servers", "")) - server_set(known.get("bootstrap_servers", "")):
        known.pop("consent", None)
    elsewhere = {"bootstrap_servers": servers_of_others} if servers_of_others else {}
    merged = elsewhere | known | given
    if not merged:
        return None
    if "bootstrap_servers" not in merged:
        raise BadInputError(f"{', '.join(given)}: for an existing cluster only; name it by --bootstrap-servers")
    if not all(merged.get(name, 0) > 0 for name in _CEILINGS):
        raise BadInputError(
            "a cluster that the stack has not started needs a ceiling above zero for the load: "
            "give both --ceiling-mib-s and --ceiling-gib"
        )
    return ForeignCluster.model_validate(merged)
