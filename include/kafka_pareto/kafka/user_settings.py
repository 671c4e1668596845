"""Read a user's client settings as Java properties, Spring Boot's YAML or properties, or librdkafka's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kafka_pareto.errors import BadInputError, did_you_mean
from kafka_pareto.kafka import librdkafka_names
from kafka_pareto.kafka.client_rules import ClientName, ClientRules, Form
from kafka_pareto.kafka.consumer_rules import CONSUMER
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.librdkafka_rules import LIBRDKAFKA_PRODUCER
from kafka_pareto.kafka.producer_rules import PRODUCER
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.kafka.settings_forms import OF_THE_CLIENT, decoded, recognised
from kafka_pareto.kafka.spring_values import plain_number_fix

_RULES = {rules.client: rules for rules in (PRODUCER, CONSUMER, LIBRDKAFKA_PRODUCER)}
_PLACEHOLDER = re.compile(r"\$\{|#\{|\{\{|%[({]|\$[A-Za-z_(]|@[A-Za-z_.-]+@")
_NAME = re.compile(r"[A-Za-z_][\w.\[\]/-]{0,199}", re.ASCII)
_UNDER_PROPERTIES = re.compile(r"spring\.kafka\.((producer|consumer)\.)?properties\b")
_PREFIXED = r"([\w.-]+(->[\w.-]+)?\.)?{client}\.(override\.)?(?P<name>.+)"
# A word, perhaps with a unit and a comment. A stray backslash joins the next lines, perhaps a secret, to the value.
_SHOWN = re.compile(r"[^\s=]{0,60}(\s\w{0,3})?(\s+#[^=]{0,60})?")
_MOST_IGNORED_SHOWN = 3
_JAVA_TRIMS = "".join(map(chr, range(33)))  # String.trim(), which keeps a no-break space, unlike Python's strip()


@dataclass(frozen=True)
class ClientFile:
    """The settings of a client's file.

    Attributes:
        ignored: Other names in the file, with the reason.
        notes: Assumptions of a measurement with these settings.
        other_defaults: Unset settings whose default in this program differs from Kafka's.
    """

    form: Form
    used: dict[str, PropertyValue]
    ignored: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    other_defaults: dict[str, str] = field(default_factory=dict)

    def report_lines(self) -> list[str]:
        """Describe the settings read from the file, one fact per line."""
        used = ", ".join(f"{name}={property_text(value)}" for name, value in self.used.items())
        return [
            f"read as {self.form}: {used or 'no settings'}",
            *(f"ignored {name}: {reason}" for name, reason in self.ignored.items()),
            *(f"note: {note}" for note in self._notes()),
        ]

    def _notes(self) -> Iterator[str]:
        if self.other_defaults:
            whose = "Kafka's" if self.form == "Spring Boot" else "Java's"
            yield f"defaults differ from {whose}; set in the file: {', '.join(self.other_defaults.values())}"
        yield from self.notes


def nothing_used(client: ClientName, found: ClientFile) -> str:
    """Return the error for a client's file without a tunable setting, with the first ignored names."""
    ignored = [f"{name} {reason}" for name, reason in found.ignored.items()]
    return "; ".join([_RULES[client].nothing_used, *ignored[:_MOST_IGNORED_SHOWN]])


def read_producer_file(text: str) -> ClientFile:
    """Read a producer's settings for a measurement; see `read_client_file`."""
    return read_client_file(text, "producer")


def read_consumer_file(text: str) -> ClientFile:
    """Read a group consumer's settings for a measurement; see `read_client_file`."""
    return read_client_file(text, "consumer")


def read_client_file(text: str, client: ClientName, *, is_measured: bool = True) -> ClientFile:
    """Read a settings file; its names show its form.

    Settings that a load generator cannot apply, like interceptors, are an error if `is_measured`, else ignored. A file
    of librdkafka must follow the rules of Java's client only if that client is measured with it.

    Raises:
        ValueError: If the file cannot be parsed, a value is malformed or a placeholder, one setting has two values, or
            a client with these settings would not start or would differ from the measured one.
    """
    rules = _RULES[client]
    found = recognised(text.removeprefix("\ufeff"), rules)
    is_of_another = found.form == "librdkafka" and client != "librdkafka" and not is_measured
    used: dict[str, PropertyValue] = {}
    ignored = dict(found.ignored)
    written_as: dict[str, str] = {}
    for written, name, value in found.settings:
        _require_setting_of(rules, found.form, written, name, value)
        meaning = rules.changes_the_meaning(name, value) if value.strip() else ""
        if meaning and is_measured:
            raise ValueError(f"{written}: {meaning}; remove the line to measure without it")
        if name not in rules.defaults:
            ignored[written] = OF_THE_CLIENT if meaning else _why_ignored(rules, name, value)
            continue
        if is_of_another and (name, value.strip()) == ("compression.gzip.level", "0"):
            ignored[written] = "has no equivalent in Java's client"
            continue
        typed = _typed(rules, written, name, value)
        if name in used and used[name] != typed:
            raise ValueError(
                f"{written_as[name]} and {written} are the same setting with two values, {property_text(used[name])} "
                f"and {value}; keep one"
            )
        used[name], written_as[name] = typed, written
        if is_measured and name in rules.set_by_the_load:
            ignored[written] = rules.set_by_the_load[name]
    given = {name: value for _, name, value in found.settings}
    if not is_of_another and (reason := rules.why_no_start(used, written_as, given)):
        raise ValueError(reason)
    used = {name: value for name, value in used.items() if not (is_measured and name in rules.set_by_the_load)}
    ignored.pop("", None)  # a file that ends in a backslash has an empty name, which Kafka ignores
    notes = tuple(rules.notes(found.form, used, given)) if is_measured else ()
    return ClientFile(found.form, used, ignored, notes, rules.unstated_defaults(found.form, used))


def read_client_path(path: Path, client: ClientName, place: str, *, is_measured: bool = True) -> ClientFile:
    """Read a settings file as `read_client_file` does; raises BadInputError, which begins with `place`."""
    try:
        return read_client_file(decoded(path.read_bytes()), client, is_measured=is_measured)
    except OSError as error:
        raise BadInputError(f"{place}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadInputError(f"{place}: invalid {client} settings: {error}") from error


def _require_setting_of(rules: ClientRules, form: Form, written: str, name: str, value: str) -> None:
    prefixed = re.fullmatch(_PREFIXED.format(client=rules.client), written)
    if prefixed and prefixed["name"] in rules.defaults and form != "Spring Boot":
        raise ValueError(
            f"{written}: has a prefix of Kafka Connect, MirrorMaker or Kafka Streams; keep only the lines with this "
            "prefix, and remove the prefix"
        )
    if written and not _NAME.fullmatch(written):
        raise ValueError(
            "has a line that is not name=value (not shown, perhaps a secret); look for a broken line, stray "
            "quotes or a comment without #"
        )
    if form == "Java properties" and name in rules.never_empty and not value.strip():
        raise ValueError(f"{written}: must not be empty; remove the line, or {rules.name} does not start")


def _typed(rules: ClientRules, written: str, name: str, value: str) -> PropertyValue:
    value = value.strip(_JAVA_TRIMS)
    is_shown = _SHOWN.fullmatch(value)
    if _PLACEHOLDER.search(value):
        shown = repr(value) if is_shown else "the value"
        raise ValueError(f"{written}: {shown} is a placeholder of Spring or a template; replace it by its value")
    if not is_shown:
        raise ValueError(
            f"{written}: must be one word or number (not shown, perhaps a secret); look for a backslash at "
            "the end of its line"
        )
    try:
        return rules.typed_value(name, value.lower() if isinstance(rules.defaults[name], bool) else value)
    except ValueError as error:
        if written == name:
            raise
        fix = plain_number_fix(value) if _UNDER_PROPERTIES.match(written) else ""
        raise ValueError(f"{written}: {error}{fix}") from error


def _why_ignored(rules: ClientRules, name: str, value: str) -> str:
    if rules.not_varied.fullmatch(name):
        return OF_THE_CLIENT
    if not value.strip() and rules.changes_the_meaning(name, "any"):
        return "is empty"
    if librdkafka_names.without_counterpart(name) and rules.client != "librdkafka":
        return "has no equivalent in the measured Java client"
    if name in rules.of_the_other:
        return f"is a setting of the {rules.other}"
    return f"is not a tunable setting of {rules.name}{did_you_mean(name, rules.defaults)}"
