"""Detect the form of a client's settings file and translate its names to Kafka's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from kafka_pareto.kafka import librdkafka_names
from kafka_pareto.kafka.client_rules import ClientRules, Form
from kafka_pareto.kafka.properties_file import parse_properties, property_text

OF_THE_CLIENT = "depends on your client and is not measured"

_SPRING = "spring.kafka."
_SPRING_CLIENT_KEYS = re.compile(r"(ssl|security)\..+|bootstrapservers\.[0-9]+")
_NO_SPRING_KEY = "Spring Boot ignores this key; put Kafka's names under spring.kafka.{client}.properties"

_SEVERAL = "such as Spring profiles; keep only the one in use"
_PROPERTIES_SEPARATOR = re.compile(r"^[#!]---[ \t]*\r?$", re.MULTILINE)
# A key without a value, followed by a more indented line.
_LOOKS_NESTED = re.compile(
    r"^([ \t]*)[\w.\"'\[\]-]+:[ \t]*(?:#.*)?\r?\n(?:[ \t]*(?:#.*)?\r?\n)*\1[ \t]+[^\s#]", re.MULTILINE
)
_INI_SECTION = re.compile(r"^[ \t]*\[[^\]\r\n]*\][ \t]*\r?$", re.MULTILINE)


class Setting(NamedTuple):
    """A line of the file: its name as written, Kafka's name, and the text of its value."""

    written: str
    name: str
    value: str


@dataclass(frozen=True)
class Recognised:
    """The settings of a file with Kafka's names, and ignored names with the reason."""

    form: Form
    settings: list[Setting]
    ignored: dict[str, str] = field(default_factory=dict)


def decoded(content: bytes) -> str:
    """Return the text of a settings file: UTF-8, or else ISO 8859-1, in which Java reads `.properties` files.

    Raises:
        ValueError: If it is neither, as with UTF-16.
    """
    if b"\0" in content:
        raise ValueError("is not UTF-8 or ISO 8859-1 text; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def recognised(text: str, rules: ClientRules) -> Recognised:
    """Detect the form from the names, and return the settings.

    Raises:
        ValueError: If the text has several documents or sections, or is broken YAML or JSON. Read as properties, these
            would lose lines or mix those of two programs.
    """
    of_yaml = _yaml_mapping(text)
    given = _properties(text, rules) if of_yaml is None else dict(_flat(of_yaml))
    if rules.client == "librdkafka":
        return Recognised("librdkafka", [Setting(*each) for each in librdkafka_names.unified(given)], {})
    if any(name.startswith(_SPRING) for name in given):
        if of_yaml is None and len([part for part in _PROPERTIES_SEPARATOR.split(text) if part.strip()]) > 1:
            raise ValueError(f"has several documents, {_SEVERAL}")
        return Recognised("Spring Boot", *_of_spring(given, rules))
    if of_yaml is not None and any(isinstance(value, dict) for value in of_yaml.values()):
        raise ValueError(f"is YAML without spring.kafka.{rules.client}; write Kafka's names, one name=value per line")
    if librdkafka_names.shown_by(given):
        translated, ignored = librdkafka_names.translated(given)
        return Recognised("librdkafka", [Setting(*each) for each in translated], ignored)
    return Recognised("Java properties", [Setting(name, name, value) for name, value in given.items()])


def _properties(text: str, rules: ClientRules) -> dict[str, str]:
    sections = _INI_SECTION.findall(text)
    if len(sections) > 1:
        raise ValueError(f"is an INI file with several sections; keep only the {rules.client}'s section")
    return parse_properties(_INI_SECTION.sub("", text) if sections else text)


def _yaml_mapping(text: str) -> dict[Any, Any] | None:
    """Return the mapping of a YAML or JSON text; None for a properties file."""
    is_json = text.lstrip().startswith("{")
    try:
        roots = [root for root in yaml.compose_all(text, yaml.SafeLoader) if isinstance(root, yaml.MappingNode)]
    except (yaml.YAMLError, RecursionError) as error:
        if is_json or _LOOKS_NESTED.search(text):
            raise ValueError(f"is not valid {'JSON' if is_json else 'YAML'}{_where(error, text)}") from None
        return None
    if not is_json and not any(map(_is_of_yaml, roots)):
        return None
    if len(roots) > 1:
        raise ValueError(f"has several YAML documents, {_SEVERAL}")
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
        raise ValueError("has YAML aliases (*name); replace them by their values")
    _require_unique_keys(roots[0])
    try:
        mapping: dict[Any, Any] = yaml.SafeLoader("").construct_document(roots[0])
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ValueError(f"is not valid YAML{_where(error, text)}") from None
    return mapping


def _where(error: Exception, text: str) -> str:
    """Return the line number and problem of a YAML error, without the text, which may be a secret."""
    if "{{" in text:
        return ": has a template placeholder, {{ }}; replace it by its value"
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f": line {error.problem_mark.line + 1}: {error.problem}"
    return ""


def _is_of_yaml(root: yaml.MappingNode) -> bool:
    keys = [str(key.value) for key, _ in root.value]
    return any(isinstance(value, yaml.MappingNode) for _, value in root.value) or any(
        key.startswith(_SPRING) and "=" not in key for key in keys
    )


def _require_unique_keys(node: yaml.Node) -> None:
    """Reject duplicate keys in a mapping, as Spring does."""
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            _require_unique_keys(each)
    if isinstance(node, yaml.MappingNode):
        keys = [str(key.value) for key, _ in node.value]
        if twice := next((key for key, times in Counter(keys).items() if times > 1), None):
            raise ValueError(f"{twice}: appears twice in the mapping at line {node.start_mark.line + 1}; keep one")
        for _, value in node.value:
            _require_unique_keys(value)


def _flat(node: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        name = f"{prefix}{str(key).strip('[]')}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ",".join(map(str, value))
        else:
            yield name, "" if value is None else property_text(value)


def _of_spring(given: Mapping[str, str], rules: ClientRules) -> tuple[list[Setting], dict[str, str]]:
    """Return the client's settings, which take precedence over those for all clients, and ignored names."""
    client = f"{rules.client}."
    shared, own, ignored = [], [], {}
    for written, value in given.items():
        rest = re.sub(r"\.?\[([^]]*)\]", r".\1", written.removeprefix(_SPRING))  # properties[linger.ms]
        if not written.startswith(_SPRING):
            ignored[written] = "is not under spring.kafka"
        elif rest.startswith("properties."):
            shared.append(Setting(written, rest.removeprefix("properties."), value))
        elif rest.startswith(f"{client}properties."):
            own.append(Setting(written, rest.removeprefix(f"{client}properties."), value))
        elif rest.startswith(client):
            # Spring accepts batch-size, batchSize and batch_size.
            key = re.sub("[-_]", "", rest.removeprefix(client)).lower()
            if name := rules.spring_names.get(key):
                convert = rules.spring_values.get(name)
                own.append(Setting(written, name, convert(written, value) if convert else value))
            else:
                no_key = _NO_SPRING_KEY.format(client=rules.client)
                ignored[written] = OF_THE_CLIENT if _SPRING_CLIENT_KEYS.fullmatch(key) else no_key
        else:
            ignored[written] = f"is not a setting of the {rules.client}"
    taken = {each.name for each in own}
    return [*(each for each in shared if each.name not in taken), *own], ignored
