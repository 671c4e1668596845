"""Define the rules for a consumer's settings file, as in `ConsumerConfig` and `KafkaConsumer` of Kafka 4.3.1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kafka_pareto.kafka import consumer_properties, known_properties
from kafka_pareto.kafka.client_rules import COMMON_NOT_VARIED, ClientRules, Form, Used
from kafka_pareto.kafka.consumer_properties import AUTO_OFFSET_RESET, SET_BY_THE_BROKERS, conflict_in
from kafka_pareto.kafka.known_properties import PropertyValue
from kafka_pareto.kafka.spring_values import bytes_text, isolation_text, milliseconds_text, switch_text

_ASSIGNORS = "partition.assignment.strategy"
_REMOTE_ASSIGNOR = "group.remote.assignor"
_OWN_ASSIGNOR = re.compile(
    r"(class )?org\.apache\.kafka\.clients\.consumer\.(Range|RoundRobin|Sticky|CooperativeSticky)Assignor"
    r"|range|roundrobin|cooperative-sticky|uniform"
)
_OWN_DESERIALIZER = re.compile(r"(class )?org\.apache\.kafka\.common\.serialization\.\w+")
_CHANGES_THE_MEANING = {
    "interceptor.classes": "the load generator cannot run your interceptors",
    "group.instance.id": "measured group members are dynamic, and two cannot share an ID",
}
_ONLY_OF_SHARE_GROUPS = ("share.acknowledgement.mode", "share.acquire.mode")
_RESETS = ("latest", "earliest", "none")
_SINCE = re.compile(r"by_duration:P(?=[0-9T])([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{1,9})?S)?)?")


def _typed_value(name: str, text: str) -> PropertyValue:
    if name == AUTO_OFFSET_RESET:
        if text in _RESETS or _SINCE.fullmatch(text):
            return text
        raise ValueError(f"{name}: {text!r} must be one of {', '.join(_RESETS)}, or like by_duration:PT1H")
    return consumer_properties.typed_value(name, text.lower() if name == "group.protocol" else text)


def _changes_the_meaning(name: str, value: str) -> str:
    words = [word.strip() for word in value.split(",")]
    if name in (_ASSIGNORS, _REMOTE_ASSIGNOR) and not all(map(_OWN_ASSIGNOR.fullmatch, words)):
        return "an assignor decides which consumer reads which partition, and the load generator cannot run yours"
    if name in ("key.deserializer", "value.deserializer") and not _OWN_DESERIALIZER.fullmatch(value.strip()):
        return "a deserializer runs inside poll(), and the load generator cannot run yours"
    return _CHANGES_THE_MEANING.get(name, "")


def _why_no_start(used: Used, _: Mapping[str, str], given: Mapping[str, str]) -> str:
    """Return the reason why a consumer with these settings does not start in a group; empty if it does."""
    if reason := _conflict(used, given):
        return f"{reason}; otherwise Kafka's consumer does not start"
    return ""


def _conflict(used: Used, given: Mapping[str, str]) -> str:
    if "group.id" in given and not given["group.id"].strip():
        return "group.id must not be empty"
    if shared := next((name for name in _ONLY_OF_SHARE_GROUPS if name in given), ""):
        return f"{shared} must not be set except for share consumers"
    if _REMOTE_ASSIGNOR in given and given[_REMOTE_ASSIGNOR].strip() and used.get("group.protocol") != "consumer":
        return f"{_REMOTE_ASSIGNOR} needs group.protocol=consumer"
    set_by_brokers = {name: given[name] for name in SET_BY_THE_BROKERS if given.get(name, "").strip()}
    return conflict_in({**set_by_brokers, **used})


def _notes(form: Form, used: Used, given: Mapping[str, str]) -> Iterator[str]:
    if form == "Java properties" and used.get("enable.auto.commit") is True and "group.id" not in given:
        yield "enable.auto.commit=true needs a group.id; otherwise Kafka's consumer does not start"
    if used.get("isolation.level") == "read_committed":
        yield "isolation.level=read_committed: the measured topic contains no transactions"


CONSUMER = ClientRules(
    client="consumer",
    name="Kafka's consumer",
    other="producer",
    defaults={**consumer_properties.DEFAULTS, AUTO_OFFSET_RESET: "latest"},
    typed_value=_typed_value,
    # Together with the defaults, the names of `ConsumerConfig.configNames()`.
    not_varied=re.compile(
        rf"{COMMON_NOT_VARIED}|(key|value)\.deserializer|group\.(id|remote\.assignor)|partition\.assignment\.strategy"
        r"|allow\.auto\.create\.topics|default\.api\.timeout\.ms|exclude\.internal\.topics"
    ),
    of_the_other=known_properties.DEFAULTS,
    changes_the_meaning=_changes_the_meaning,
    set_by_the_load={AUTO_OFFSET_RESET: "is always earliest in a measurement, since the group reads the whole topic"},
    never_empty=("group.instance.id",),
    why_no_start=_why_no_start,
    notes=_notes,
    spring_names={
        "autocommitinterval": "auto.commit.interval.ms",
        "autooffsetreset": AUTO_OFFSET_RESET,
        "bootstrapservers": "bootstrap.servers",
        "clientid": "client.id",
        "enableautocommit": "enable.auto.commit",
        "fetchmaxwait": "fetch.max.wait.ms",
        "fetchminsize": "fetch.min.bytes",
        "groupid": "group.id",
        "heartbeatinterval": "heartbeat.interval.ms",
        "isolationlevel": "isolation.level",
        "keydeserializer": "key.deserializer",
        "maxpollinterval": "max.poll.interval.ms",
        "maxpollrecords": "max.poll.records",
        "valuedeserializer": "value.deserializer",
    },
    spring_values={
        "auto.commit.interval.ms": milliseconds_text,
        "enable.auto.commit": switch_text,
        "fetch.max.wait.ms": milliseconds_text,
        "fetch.min.bytes": bytes_text,
        "heartbeat.interval.ms": milliseconds_text,
        "isolation.level": isolation_text,
        "max.poll.interval.ms": milliseconds_text,
    },
    librdkafka_defaults={
        "check.crcs": "check.crcs (false)",
        "isolation.level": "isolation.level (read_committed)",
    },
    # Spring for Kafka's listener containers commit offsets themselves.
    spring_defaults={"enable.auto.commit": "enable.auto.commit (false in listeners)"},
    example="max.poll.records=1000",
)
