"""Applies what a single campaign is asked for in place of its study file's values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.known_properties import DEFAULTS, PropertyValue, typed_value
from kafka_pareto.kafka.properties_file import parse_properties
from kafka_pareto.study.identifiers import SENSITIVE_NAMES
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import checked
from kafka_pareto.study.warm_start import Campaigns

AnyStudy = TypeVar("AnyStudy", bound=Study)
_MAY_BE_SECRET = re.compile(SENSITIVE_NAMES, re.IGNORECASE)


def with_overrides(
    study: AnyStudy,
    cases: Sequence[str] | None = None,
    seed: int | None = None,
    repetitions: int | None = None,
    cluster: ForeignCluster | None = None,
    warm_start: Campaigns | None = None,
    cool_down_s: float | None = None,
    baseline: Mapping[str, PropertyValue] | None = None,
    table: Mapping[str, Any] | None = None,
) -> AnyStudy:
    """Returns the study with the overrides of a single campaign, checked like a file.

    Fewer repetitions than the study's minimum lower that minimum too, since the user asked for them. Where they leave
    adaptive repetitions no choice, every trial gets as many. A baseline takes the place of the study's whole one, and a
    comparison's table (`factor` and `levels`) that of all its parts. On another cluster no brokers of its own start.

    Raises:
        StudyError: Naming the override and the rule that it breaks.
    """
    content = study.model_dump(exclude_none=True)
    content |= {} if cases is None else study.keys_of_cases(cases)
    content |= {} if table is None else {"tables": [dict(table)], "variants": [], "series": [], "grid": None}
    content |= {} if seed is None else {"seed": seed}
    content |= {} if baseline is None else {"baseline": dict(baseline)}
    if repetitions is not None:
        minimum = max(2, min(study.protocol.minimum_valid_repetitions, repetitions))
        content["protocol"] |= {"repetitions": repetitions, "minimum_valid_repetitions": minimum}
        if study.protocol.adaptive and repetitions <= study.protocol.adaptive.minimum_repetitions:
            del content["protocol"]["adaptive"]
    if cluster is not None:
        content["cluster"] = cluster.model_dump(exclude_none=True)
        content |= {} if study.own_brokers is None else {"testbed": "cluster"}
    if warm_start is not None:
        content["warm_start"] = content.get("warm_start", {}) | {"campaigns": warm_start}
    if cool_down_s is not None:
        content["protocol"] |= {"cool_down_s": cool_down_s}
    return checked(type(study), content, f"{study.name} with this campaign's overrides")


def baseline_of(text: str, place: str) -> dict[str, PropertyValue]:
    """Returns the tunable properties in the text of a user's `producer.properties`; `place` names it in messages.

    Unlike a file that a study names, the text travels, and may be read where the campaign is shown. So one that may
    hold a secret is refused. Addresses and classes are skipped.

    Raises:
        BadInputError: Naming the property and the rule; never a value that may be a secret.
    """
    try:
        given = parse_properties(text)
        if secret := next((name for name in given if _MAY_BE_SECRET.search(name)), None):
            raise ValueError(
                f"{secret}: may hold a secret, and a baseline is stored and shown with its campaign; leave it out: how "
                "to log in is said by the client configuration"
            )
        found = {name: typed_value(name, value) for name, value in given.items() if name in DEFAULTS}
    except ValueError as error:
        raise BadInputError(f"{place}: {error}") from error
    if not found:
        raise BadInputError(f"{place}: holds no tunable property of Kafka's producer, like linger.ms=20")
    return found
