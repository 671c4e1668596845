"""Overrides of a study file's values for a single campaign."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import JsonValue

from kafka_pareto.errors import BadInputError
from kafka_pareto.kafka.client_rules import JAVA_PRODUCER, ClientName
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.user_settings import ClientFile, nothing_used, read_client_file
from kafka_pareto.storage.record import Frozen
from kafka_pareto.study.cluster_names import server_set
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.factors import Configuration
from kafka_pareto.study.identifiers import SENSITIVE_NAMES
from kafka_pareto.study.options import MAKE_NAMES
from kafka_pareto.study.parts import Grid, Part, Series, Table, Variants
from kafka_pareto.study.sections import ForeignCluster
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import AnyStudy, checked
from kafka_pareto.study.warm_start import Campaigns

_AnyCompare = TypeVar("_AnyCompare", bound=Compare)
# Cluster and earlier campaigns belong to a campaign and are reported elsewhere.
_NOT_COMPARED = ("cluster", "warm_start")
_KINDS_OF_PARTS = ("tables", "variants", "series", "grid")
_CEILINGS = ("ceiling_mib_s", "ceiling_gib")
_MAY_BE_SECRET = re.compile(SENSITIVE_NAMES, re.IGNORECASE)


class Override(Frozen):
    """A key of the study with the file's and this campaign's values."""

    key: str
    of_file: JsonValue
    of_campaign: JsonValue

    def __str__(self) -> str:
        return f"{self.key} {_shown(self.of_campaign)} (file: {_shown(self.of_file)})"


def overrides_of(file: Study, campaign: Study) -> list[Override]:
    """List the campaign's deviations from its study file, those of the protocol one by one, and parts by name."""
    before, now = _flat(file), _flat(campaign)
    if (
        isinstance(file, Compare)
        and isinstance(campaign, Compare)
        and all(part in file.parts for part in campaign.parts)
    ):
        for values, study in ((before, file), (now, campaign)):
            for kind in _KINDS_OF_PARTS:
                del values[kind]
            values["parts"] = list(study.cases)
    return [
        Override(key=key, of_file=before.get(key), of_campaign=value)
        for key, value in now.items()
        if value != before.get(key)
    ]


def _flat(study: Study) -> dict[str, JsonValue]:
    values = study.model_dump(mode="json")
    of_protocol = {f"protocol.{key}": value for key, value in values.pop("protocol").items()}
    return {key: value for key, value in values.items() if key not in _NOT_COMPARED} | of_protocol


def _shown(value: JsonValue) -> str:
    if isinstance(value, dict):
        said = {name: each for name, each in value.items() if each not in (None, {}, [])}
        return ", ".join(f"{name}={_shown(each)}" for name, each in said.items()) or "none"
    if isinstance(value, list):
        separator = "; " if any(isinstance(each, dict) for each in value) else ", "
        return separator.join(map(_shown, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


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
    """Return the study with a campaign's overrides, validated like a file.

    Fewer repetitions than the study's minimum also lower that minimum; if that leaves adaptive repetitions no choice,
    every trial gets the same number. A baseline replaces the study's whole one, and a comparison's table (`factor` and
    `levels`) replaces all its parts. On another cluster the study's own brokers do not start.
    """
    content = study.model_dump(exclude_none=True)
    content |= {} if cases is None else study.keys_of_cases(cases)
    if table is not None and isinstance(study, Compare):
        levels = [{table["factor"]: level} for level in table["levels"]]
        content |= {"tables": [dict(table)], "variants": [], "series": [], "grid": None} | study.unused_keys(levels)
    content |= {} if seed is None else {"seed": seed}
    content |= {} if baseline is None else {"baseline": dict(baseline)}
    if repetitions not in (None, study.protocol.repetitions):  # an equal number keeps the study's minimum
        minimum = max(2, min(study.protocol.minimum_valid_repetitions, repetitions))
        content["protocol"] |= {"repetitions": repetitions, "minimum_valid_repetitions": minimum}
        if study.protocol.adaptive and repetitions <= study.protocol.adaptive.minimum_repetitions:
            del content["protocol"]["adaptive"]
    if cluster is not None:
        content["cluster"] = cluster.model_dump(exclude_none=True)
        content |= {"testbed": "cluster"} if "testbed" in content else {}
    if warm_start is not None:
        content["warm_start"] = content.get("warm_start", {}) | {"campaigns": warm_start}
    if cool_down_s is not None:
        content["protocol"] |= {"cool_down_s": cool_down_s}
    return checked(type(study), content, f"{study.name} with this campaign's overrides")


def read_baseline(text: str, place: str, client: ClientName = JAVA_PRODUCER) -> ClientFile:
    """Read a user's settings of this client, which replace a study's baseline.

    The text may be stored and shown, so one that may hold a secret is rejected. The BadInputError names `place`,
    property and rule, but never the value of a secret.
    """
    try:
        found = read_client_file(text, client)
    except ValueError as error:
        raise BadInputError(f"{place}: {error}") from error
    if secret := next((name for name in found.ignored if _MAY_BE_SECRET.search(name)), None):
        raise BadInputError(
            f"{place}: {secret}: may hold a secret, and a baseline is stored and shown with its campaign; "
            "remove it: logins belong in the client configuration"
        )
    if not found.used:
        raise BadInputError(f"{place}: {nothing_used(client, found)}")
    return found


def cluster_with(
    of_the_study: ForeignCluster | None, given: dict[str, Any], servers_of_others: str = ""
) -> ForeignCluster | None:
    """Return the cluster that the options name, or the study's own with their changes; None if neither.

    The study's ceilings are upper bounds, and its consent covers only its own brokers. `servers_of_others` is the
    default cluster, if others may depend on it.
    """
    known = of_the_study.model_dump() if of_the_study else {}
    for name in _CEILINGS:
        if given.get(name, 0) > known.get(name, math.inf):
            raise BadInputError(
                f"{name.upper()}={given[name]:g}: the study's cluster.{name} is {known[name]:g}; "
                "a campaign may lower a ceiling, only the study's file may raise it"
            )
    if server_set(given.get("bootstrap_servers", "")) - server_set(known.get("bootstrap_servers", "")):
        known.pop("consent", None)
    elsewhere = {"bootstrap_servers": servers_of_others} if servers_of_others else {}
    merged = elsewhere | known | given
    if not merged:
        return None
    if "bootstrap_servers" not in merged:
        options = ", ".join(MAKE_NAMES.get(name, name.upper()) for name in given)
        raise BadInputError(f"{options}: for an existing cluster only; name it with KAFKA")
    if not all(merged.get(name, 0) > 0 for name in _CEILINGS):
        raise BadInputError(
            "a cluster that the stack has not started needs a ceiling above zero for the load: "
            "give both CEILING_MIB_S and CEILING_GIB"
        )
    return ForeignCluster.model_validate(merged)


def without_impossible(
    study: _AnyCompare, fault_of: Callable[[Configuration], str]
) -> tuple[_AnyCompare, list[Override]]:
    """Return the study without the levels that cannot be measured here, and the reason for each.

    A part with fewer than two levels left is dropped. Raises BadInputError for a reference, a grid or a series that
    cannot be measured whole, or if no part is left.
    """
    skipped: list[Override] = []
    kept: list[Part] = []
    for part in study.parts:
        levels = study.levels_of(part.part)
        faults = [fault_of(level) for level in levels]
        places = [place for place, fault in enumerate(faults) if not fault]
        if len(places) == len(levels):
            kept.append(part)
            continue
        reference = study.baseline_configuration(part.part)
        if isinstance(part, Grid | Series) or reference not in [levels[place] for place in places]:
            missing = next(filter(None, faults))
            raise BadInputError(f"study {study.name}: part {part.part}: cannot be measured here: {missing}")
        names = part.variants if isinstance(part, Variants) else map(str, part.levels)
        skipped += [
            Override(key=f"part {part.part}", of_file=name, of_campaign=f"skipped: {fault}")
            for name, fault in zip(names, faults, strict=True)
            if fault
        ]
        kept += [part.only(places)] if len(places) > 1 else []
    if skipped and not kept:
        raise BadInputError(f"study {study.name}: no part can be measured here: {'; '.join(map(str, skipped))}")
    of_kind = {kind: [part for part in kept if isinstance(part, kind)] for kind in (Variants, Table)}
    update = {"variants": of_kind[Variants], "tables": of_kind[Table]}
    return (study.model_copy(update=update) if skipped else study), skipped
