"""Quantities of a driver's repetitions, declared as dataclass fields."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeAlias, Union, get_args, get_origin, get_type_hints

Value: TypeAlias = float | int | str | None
Values: TypeAlias = Mapping[str, Value]

# Longest suffix first: a rate is not a time.
_UNITS = {
    "_s_per_million_records": "s per million records",
    "_s_per_million_rows": "s per million rows",
    "_bytes_per_row": "B",
    "_bytes_per_record": "B",
    "_per_thousand_records": "per 1,000 records",
    "_mib_s": "MiB/s",
    "_records_s": "records/s",
    "_s_per_thousand_events": "s per 1,000 events",
    "rows_s": "rows/s",
    "orders_s": "orders/s",
    "_events_s": "events/s",
    "_faults_s": "faults/s",
    "packets_s": "packets/s",
    "_kb_s": "kB/s",
    "_ms_per_order": "ms",
    "_records": "records",
    "_events": "events",
    "_mib": "MiB",
    "_cores": "cores",
    "_bytes": "B",
    "_ms": "ms",
    "_s": "s",
}


@dataclass(frozen=True)
class Shown:
    """`Annotated` metadata: how pages show a quantity, and whether more of it is better."""

    label: str
    maximised: bool


@dataclass(frozen=True)
class Resolution:
    """`Annotated` metadata: the smallest difference in a quantity that a study's tool shows."""

    of_protocol: Callable[[Any], float]


@dataclass(frozen=True)
class Quantity:
    """One value of a repetition; `name` includes the unit, as in `latency_p95_ms`.

    Without `choices` any text is allowed, without a `label` no page shows it, without `maximised` it is neutral.
    `resolution` returns the smallest difference that a study's tool shows.
    """

    name: str
    type: type
    may_be_missing: bool
    choices: tuple[str, ...] = ()
    label: str = ""
    maximised: bool | None = None
    resolution: Callable[[Any], float] | None = None

    @property
    def unit(self) -> str:
        """Return the readable unit; empty for a share or a text."""
        return next((unit for ending, unit in _UNITS.items() if self.name.endswith(ending)), "")

    @property
    def words(self) -> str:
        """Return the label, or else the name in words without unit."""
        ending = next((ending for ending in _UNITS if self.name.endswith(ending)), "")
        return self.label or self.name.removesuffix(ending).replace("_", " ")

    @property
    def heading(self) -> str:
        """Return the words with the unit."""
        return f"{self.words} [{self.unit}]" if self.unit else self.words

    def takes(self, value: Value) -> bool:
        """Return whether a repetition may have this value."""
        if value is None:
            return self.may_be_missing
        if isinstance(value, bool) or (self.choices and value not in self.choices):
            return False
        return isinstance(value, (int, float) if self.type is float else self.type)


class Quantities:
    """Base of dataclasses with a driver's quantities; they may nest."""

    @classmethod
    def of(cls, values: Values) -> Self:
        """Read them from a stored repetition; an optional part is None if a required value is missing."""
        found: Self = _read(cls, values)
        return found

    def values(self) -> dict[str, Value]:
        """Return them by name, as repetitions hold them; None for those of a missing part."""
        known = dict(_held(self))
        model: type = type(self)
        return {each.name: known.get(each.name) for each in quantities_of(model)}


def _read(model: type, values: Values) -> Any:
    arguments: dict[str, Any] = {}
    for name, hint in _hints(model).items():
        inner = next((part for part in _parts(hint) if isinstance(part, type) and is_dataclass(part)), None)
        if inner is None:
            arguments |= {name: values[name]} if name in values else {}
            continue
        needed = [each.name for each in quantities_of(inner) if not each.may_be_missing]
        is_missing = types.NoneType in _parts(hint) and any(values.get(each) is None for each in needed)
        arguments[name] = None if is_missing else _read(inner, values)
    return model(**arguments)


def _held(part: Any) -> Iterator[tuple[str, Value]]:
    for each in fields(part):
        value = getattr(part, each.name)
        if is_dataclass(value):
            yield from _held(value)
        else:
            yield each.name, value


@cache
def quantities_of(model: type) -> tuple[Quantity, ...]:
    """List the quantities of a dataclass, nested ones in place."""
    hints = _hints(model)
    found: list[Quantity] = []
    for each in fields(model):
        parts = _parts(hints[each.name])
        may_be_missing = types.NoneType in parts
        kind = next(part for part in parts if isinstance(part, type) and part is not types.NoneType)
        if is_dataclass(kind):
            inner = quantities_of(kind)
            found += [replace(one, may_be_missing=True) for one in inner] if may_be_missing else inner
            continue
        shown = next((part for part in parts if isinstance(part, Shown)), None)
        resolution = next((part.of_protocol for part in parts if isinstance(part, Resolution)), None)
        label, maximised = (shown.label, shown.maximised) if shown else ("", None)
        choices = _choices(hints[each.name])
        found.append(Quantity(each.name, kind, may_be_missing, choices, label, maximised, resolution))
    return tuple(found)


@cache
def _hints(model: type) -> dict[str, Any]:
    # Evaluating annotations again would cost milliseconds per repetition.
    return get_type_hints(model, include_extras=True)


def _parts(hint: Any) -> list[Any]:
    """List the types and metadata of an annotation; a `Literal` counts as a text."""
    origin = get_origin(hint)
    if origin is Literal:
        return [str]
    if origin in (Annotated, Union, types.UnionType):
        return [part for argument in get_args(hint) for part in _parts(argument)]
    return [hint]


def _choices(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(text for argument in get_args(hint) for text in _choices(argument))
