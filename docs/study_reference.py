"""Write `docs/study-reference.md` from the schema that checks every study: a part of `make docs`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from inspect import getdoc
from pathlib import Path
from typing import Any, TypeAlias

from kafka_pareto.drivers.producer.protocol import ProducerProtocol
from kafka_pareto.kafka.known_properties import PRODUCER_DURABILITIES
from kafka_pareto.study.compare import Compare
from kafka_pareto.study.protocol import Protocol
from kafka_pareto.study.section import Section
from kafka_pareto.study.study import Study
from kafka_pareto.study.study_file import study_classes
from kafka_pareto.study.tune import Tune

PAGE = Path(__file__).parent / "study-reference.md"
Schema: TypeAlias = dict[str, Any]

_HEAD = """\
# Study reference

This page is generated from the schema that checks every study: `make docs` writes it. [Studies](studies.md) says how
the keys are used. An unknown key or a wrong type is refused, with file, key, value and rule. In a study file `baseline`
may also be the name of a `producer.properties` beside it.

Some keys belong to every study. A study's `kind` (`tune` where it is absent) and its `driver` add their own.
[Comparisons](comparisons.md) says how those of `kind: compare` are used.
"""
_KINDS: dict[str, type[Study]] = {"tune": Tune, "compare": Compare}
_PAIR_KEYS = {"kind", "driver"}
_LAYERS: dict[str, dict[str, type[Section]]] = {
    **{
        study.__name__: {"Every study": Study, f"kind: {kind}": _KINDS[kind], f"kind: {kind}, driver: {driver}": study}
        for (kind, driver), study in study_classes().items()
    },
    "ProducerProtocol": {"protocol": Protocol, "protocol, driver: producer": ProducerProtocol},
}
_BOUNDS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "pattern": "`{}`",
}
_SIZES = {"minItems": "at least {}", "minProperties": "at least {}"}
_TYPES = {"boolean": "true or false", "integer": "whole number", "number": "number", "string": "text"}


class Reference:
    """Render the studies' JSON schemas as a page: their layers, then each part, as a reader meets them.

    Attributes:
        titles: The parts with keys of their own, by the name of their model: the key under which each is met first.
    """

    def __init__(self, schemas: Sequence[Schema]) -> None:
        self._schemas = schemas
        self._definitions: Schema = {name: part for schema in schemas for name, part in schema["$defs"].items()}
        self.titles: dict[str, str] = {}
        self._shown: dict[str, Schema] = {}
        for schema in schemas:
            self._meet(schema, "")

    def page(self) -> str:
        """Return the page as Markdown."""
        schemas = [(schema["title"], "", schema) for schema in self._schemas]
        schemas += [(name, title, self._definitions[name]) for name, title in self.titles.items()]
        return "\n".join([_HEAD, *(section for each in schemas for section in self._sections(*each))])

    def _meet(self, schema: Schema, path: str) -> None:
        for key, value in schema["properties"].items():
            place = f"{path}.{key}".removeprefix(".")
            names = [name for name in _references(value) if "properties" in self._definitions[name]]
            for name in names:
                if name not in self.titles:
                    is_alone = len(names) == 1 and place not in self.titles.values()
                    self.titles[name] = place if is_alone else f"{place} as {name}"
                    self._meet(self._definitions[name], place)

    def _sections(self, name: str, title: str, schema: Schema) -> list[str]:
        """Render a model, each of its layers in a section of its own; one that studies share, once.

        A key stands in the first layer that has it, and in the last one again if that takes other values for it.
        """
        if name not in _LAYERS:
            return [self._section(title, schema)]
        sections: list[str] = []
        above: Schema = {}
        *_, last = _LAYERS[name]
        for layer, model in _LAYERS[name].items():
            keys = {key: value for key, value in schema["properties"].items() if key in model.model_fields}
            narrowed = {key for key in above.keys() - _PAIR_KEYS if layer == last and above[key] != keys.get(key)}
            own = {key: value for key, value in keys.items() if key not in above or key in narrowed}
            if layer not in self._shown:
                sections.append(self._section(layer, {**schema, "description": getdoc(model), "properties": own}))
            above |= self._shown.setdefault(layer, own)
        return sections

    def _section(self, title: str, schema: Schema) -> str:
        rows = [
            f"| `{key}` | {self._value(value)} | {self._default(key, value, schema)} |"
            for key, value in schema["properties"].items()
        ]
        paragraphs = [" ".join(text.split()) for text in re.split(r"\n\s*\n", schema["description"])]
        return "\n".join(
            [f"## {title}", "", "\n\n".join(paragraphs), "", "| key | value | default |", "|---|---|---|", *rows, ""]
        )

    def _value(self, schema: Schema) -> str:
        """Describe in words which values a key takes."""
        if "$ref" in schema:
            return self._reference(_name_of(schema))
        for union in ("anyOf", "oneOf"):
            if union in schema:
                kinds = [part for part in schema[union] if part.get("type") != "null"]
                if {"type": "number"} in kinds:
                    kinds = [kind for kind in kinds if kind != {"type": "integer"}]
                return " or ".join(self._value(part) for part in kinds)
        if "const" in schema:
            return f"`{schema['const']}`"
        if "enum" in schema:
            return " or ".join(f"`{choice}`" for choice in schema["enum"])
        bounds = ", ".join(text.format(schema[key]) for key, text in _BOUNDS.items() if key in schema)
        cases = "".join(f"; {text.format(schema[key])}" for key, text in _SIZES.items() if key in schema)
        return self._plain(schema) + (f" ({bounds})" if bounds else "") + cases

    def _reference(self, name: str) -> str:
        if name in self.titles:
            title = self.titles[name]
            return f"[{title}](#{_slug(title)})"
        # The one model without keys: the study gives names where the schema has numbers.
        return " or ".join(f"`{each.name}`" for each in PRODUCER_DURABILITIES)

    def _plain(self, schema: Schema) -> str:
        if schema["type"] == "array":
            return f"list of {self._value(schema['items'])}"
        if schema["type"] == "object":
            names = {"type": "string", **schema.get("propertyNames", {})}
            by_pattern = schema.get("patternProperties", {})  # where the names have to match one
            (values,) = by_pattern.values() or [schema["additionalProperties"]]
            return f"mapping of {self._value(names)} to {self._value(values)}"
        return _TYPES[schema["type"]]

    def _default(self, key: str, value: Schema, schema: Schema) -> str:
        if key in schema.get("required", []):
            return "**required**"
        if "$ref" in value:
            return self._default_of_part(value)
        if "default" not in value:  # made again for each study
            return "all of them" if "enum" in value.get("items", {}) else "empty"
        return "none" if value["default"] is None else f"`{json.dumps(value['default'])}`"

    def _default_of_part(self, value: Schema) -> str:
        """Describe how a part's default differs from the defaults of its own keys."""
        keys = self._definitions[_name_of(value)].get("properties", {})
        given: Schema = value.get("default", {})
        other = {
            key: each
            for key, each in given.items()
            if "$ref" not in keys[key] and ("default" not in keys[key] or keys[key]["default"] != each)
        }
        if not other:
            return "its own defaults"
        return "its own defaults, and " + ", ".join(f"`{key}: {_yaml(each)}`" for key, each in other.items())


def study_reference() -> str:
    """Return the page for the study models of today."""
    schemas = [model.model_json_schema() for model in study_classes().values()]
    for name, place in (("kind", 0), ("driver", 1)):
        choices = list(dict.fromkeys(pair[place] for pair in study_classes()))
        schemas[0]["properties"][name] = {"enum": choices, "default": choices[0]}
    return Reference(schemas).page()


def _yaml(value: Any) -> str:
    """Return a value as a study file has it, in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_yaml(each)}" for key, each in value.items()) + "}"
    return str(value)


def _references(schema: Any) -> list[str]:
    """Name every model that a key's value may be, in order."""
    if isinstance(schema, list):
        return [name for part in schema for name in _references(part)]
    if not isinstance(schema, dict):
        return []
    own = [_name_of(schema)] if "$ref" in schema else []
    return own + [name for key, part in schema.items() if key != "discriminator" for name in _references(part)]


def _name_of(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(study_reference(), encoding="utf-8")
    print(f"{PAGE.relative_to(Path.cwd())}: written")
