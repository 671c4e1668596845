"""Read a user's producer settings as Java properties, Spring Boot's YAML or properties, or librdkafka's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kafka_pareto.errors import did_you_mean
from kafka_pareto.kafka import librdkafka_names
from kafka_pareto.kafka.known_properties import DEFAULTS, INT_MAX, PropertyValue, resolved, typed_value
from kafka_pareto.kafka.properties_file import property_text
from kafka_pareto.kafka.settings_forms import OF_THE_CLIENT, Form, recognised

NOTHING_USED = "holds no tunable property of Kafka's producer, like linger.ms=20"

_CHANGES_THE_MEANING = {
    "interceptor.classes": "no load generator runs your interceptors",
    "partitioner.class": "a partitioner decides which records share a batch, and no load generator runs yours",
    "transactional.id": "transactions are not measured, and they cost a round trip each",
}
# Names of `ProducerConfig.configNames()` in Kafka 4.3.1 that no study varies.
_NOT_VARIED = re.compile(
    r"bootstrap\.servers|client\.(id|rack|dns\.lookup)|config\.providers|enable\.metrics\.push|(key|value)\.serializer"
    r"|metadata\.(max\.idle\.ms|recovery\.[a-z.]+)|metric\.reporters|metrics\.[a-z.]+|reconnect\.backoff\.(max\.)?ms"
    r"|s(asl|sl)\.[a-z.]+|security\.(protocol|providers)|socket\.connection\.setup\.timeout\.(max\.)?ms"
    r"|transaction\.(timeout\.ms|two\.phase\.commit\.enable)"
)
_PLACEHOLDER = re.compile(r"\$\{|#\{|\{\{|%[({]|\$[A-Za-z_(]|@[A-Za-z_.-]+@")
_NAME = re.compile(r"[A-Za-z_][\w.\[\]/-]{0,199}", re.ASCII)
_PREFIXED = re.compile(r"([\w.-]+(->[\w.-]+)?\.)?producer\.(override\.)?(?P<name>.+)")
# A word, perhaps with a unit and a comment. After a stray backslash, a value holds the next lines, perhaps a secret.
_SHOWN = re.compile(r"[^\s=]{0,60}(\s\w{0,3})?(\s+#[^=]{0,60})?")
_JAVA_TRIMS = "".join(map(chr, range(33)))  # String.trim(): unlike Python's, it leaves a no-break space
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_MOST_IN_FLIGHT_IDEMPOTENT = 5
_NEEDS_FEW_IN_FLIGHT = f"needs at most {_MOST_IN_FLIGHT_IDEMPOTENT} requests in flight"


@dataclass(frozen=True)
class ProducerFile:
    """The settings of a producer, and the names in the file that were left out, each with the reason."""

    form: Form
    used: dict[str, PropertyValue]
    left_out: dict[str, str] = field(default_factory=dict)

    def report_lines(self) -> list[str]:
        """Describe how the file was understood, one fact a line."""
        used = ", ".join(f"{name}={property_text(value)}" for name, value in self.used.items())
        return [
            f"read as {self.form}: {used or 'nothing'}",
            *(f"left out {name}: {reason}" for name, reason in self.left_out.items()),
            *(f"note: {note}" for note in self._notes()),
        ]

    def _notes(self) -> Iterator[str]:
        if self.form == "librdkafka":
            if unstated := librdkafka_names.unstated_defaults(self.used):
                yield f"defaults differ from Java's: state {', '.join(unstated)}"
        elif "enable.idempotence" not in self.used and int(self.used.get(_IN_FLIGHT, 0)) > _MOST_IN_FLIGHT_IDEMPOTENT:
            yield (
                f"{_IN_FLIGHT}={self.used[_IN_FLIGHT]} turns idempotence off before Kafka 4.0 and is measured so; "
                f"newer clients need enable.idempotence=false to start, since idempotence {_NEEDS_FEW_IN_FLIGHT}"
            )


def read_producer_file(text: str) -> ProducerFile:
    """Read the text in the form that its names show.

    Raises:
        ValueError: If the file cannot be parsed, a value is malformed or a placeholder, one setting has two values, or
            a producer with these settings would not start or would mean something else than what is measured.
    """
    found = recognised(text.removeprefix("\ufeff"))
    used: dict[str, PropertyValue] = {}
    left_out = dict(found.left_out)
    written_as: dict[str, str] = {}
    for written, name, value in found.settings:
        _require_setting_of_a_producer(found.form, written, name, value)
        if name not in DEFAULTS:
            left_out[written] = _why_left_out(name)
            continue
        typed = _typed(written, name, value)
        if name in used and used[name] != typed:
            raise ValueError(
                f"{written_as[name]} and {written} are one setting with two values, {property_text(used[name])} and "
                f"{value}; keep one"
            )
        used[name], written_as[name] = typed, written
    if reason := _why_no_start(used, written_as):
        raise ValueError(reason)
    left_out.pop("", None)  # a file that ends in a backslash has an empty name, which Kafka ignores
    return ProducerFile(found.form, used, left_out)


def _require_setting_of_a_producer(form: Form, written: str, name: str, value: str) -> None:
    if (prefixed := _PREFIXED.fullmatch(written)) and prefixed["name"] in DEFAULTS and form != "Spring Boot":
        raise ValueError(
            f"{written}: has the prefix of Kafka Connect, MirrorMaker or Kafka Streams; keep only the lines with this "
            "prefix, and drop it"
        )
    if written and not _NAME.fullmatch(written):
        raise ValueError(
            "has a line that is not name=value (not shown: it may hold a secret); look for a broken line, stray quotes "
            "or a comment without #"
        )
    if name in _CHANGES_THE_MEANING and value.strip():
        raise ValueError(f"{written}: {_CHANGES_THE_MEANING[name]}; remove the line to compare without")
    if form == "Java properties" and name in ("partitioner.class", "transactional.id") and not value.strip():
        raise ValueError(f"{written}: is empty, and Kafka's producer refuses to start; remove the line")


def _typed(written: str, name: str, value: str) -> PropertyValue:
    value = value.strip(_JAVA_TRIMS)
    is_shown = _SHOWN.fullmatch(value)
    if _PLACEHOLDER.search(value):
        shown = repr(value) if is_shown else "it"
        raise ValueError(f"{written}: {shown} is a placeholder that Spring or a template fills in; write its value")
    if not is_shown:
        raise ValueError(
            f"{written}: must be one word or number (not shown: it may hold a secret); look for a backslash at the end "
            "of its line"
        )
    try:
        return typed_value(name, value.lower() if isinstance(DEFAULTS[name], bool) else value)
    except ValueError as error:
        raise error if written == name else ValueError(f"{written}: {error}") from error


def _why_left_out(name: str) -> str:
    if _NOT_VARIED.fullmatch(name):
        return OF_THE_CLIENT
    if name in _CHANGES_THE_MEANING:
        return "is empty"
    if librdkafka_names.without_counterpart(name):
        return "has no counterpart in the Java client, which is measured"
    return f"no producer of Kafka 4.3 knows it{did_you_mean(name, DEFAULTS)}"


def _why_no_start(used: Mapping[str, PropertyValue], written_as: Mapping[str, str]) -> str:
    """Return why a producer with the settings does not start, or sends nothing; empty if it works."""
    applied = resolved(used)
    if reason := _idempotence_conflict(used, applied):
        return f"{reason}: Kafka's producer refuses to start"
    linger_ms, request_ms = min(int(applied["linger.ms"]), INT_MAX), int(applied["request.timeout.ms"])
    if "delivery.timeout.ms" in used and int(used["delivery.timeout.ms"]) < min(linger_ms + request_ms, INT_MAX):
        return (
            f"{written_as['delivery.timeout.ms']}={used['delivery.timeout.ms']} is below linger.ms + "
            f"request.timeout.ms ({linger_ms} + {request_ms}): Kafka's producer refuses to start"
        )
    if int(applied["buffer.memory"]) < int(applied["batch.size"]):
        return (
            f"buffer.memory={applied['buffer.memory']} is below batch.size={applied['batch.size']}: no batch fits, and "
            "every send fails"
        )
    return ""


def _idempotence_conflict(used: Mapping[str, PropertyValue], applied: Mapping[str, PropertyValue]) -> str:
    """Return the setting that a stated idempotence does not allow; empty if there is none."""
    if used.get("enable.idempotence") is not True:
        return ""
    if applied["acks"] != "all":
        return f"acks={applied['acks']} with enable.idempotence=true, which needs acks=all"
    if applied["retries"] == 0:
        return "retries=0 with enable.idempotence=true, which needs retries above 0"
    if int(applied[_IN_FLIGHT]) > _MOST_IN_FLIGHT_IDEMPOTENT:
        return f"{_IN_FLIGHT}={applied[_IN_FLIGHT]} with enable.idempotence=true, which {_NEEDS_FEW_IN_FLIGHT}"
    return ""
