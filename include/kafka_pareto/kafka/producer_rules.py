"""The rules for a producer's settings file; they agree with `ProducerConfig` and `KafkaProducer` of Kafka 4.3.1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kafka_pareto.kafka import consumer_properties
from kafka_pareto.kafka.client_rules import COMMON_NOT_VARIED, ClientRules, Form, Used
from kafka_pareto.kafka.known_properties import DEFAULTS, INT_MAX, resolved, typed_value
from kafka_pareto.kafka.spring_values import bytes_text

_CHANGES_THE_MEANING = {
    "interceptor.classes": "no load generator runs your interceptors",
    "partitioner.class": "a partitioner decides which records share a batch, and no load generator runs yours",
    "transactional.id": "transactions are not measured, and they cost a round trip each",
}
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_MOST_IN_FLIGHT_IDEMPOTENT = 5
_NEEDS_FEW_IN_FLIGHT = f"needs at most {_MOST_IN_FLIGHT_IDEMPOTENT} requests in flight"


def _changes_the_meaning(name: str, _: str) -> str:
    return _CHANGES_THE_MEANING.get(name, "")


def _notes(form: Form, used: Used, _: Mapping[str, str]) -> Iterator[str]:
    if form == "librdkafka" or "enable.idempotence" in used:
        return
    if int(used.get(_IN_FLIGHT, 0)) > _MOST_IN_FLIGHT_IDEMPOTENT:
        yield (
            f"{_IN_FLIGHT}={used[_IN_FLIGHT]} turns idempotence off before Kafka 4.0 and is measured so; "
            f"newer clients need enable.idempotence=false to start, since idempotence {_NEEDS_FEW_IN_FLIGHT}"
        )


def _why_no_start(used: Used, written_as: Mapping[str, str], _: Mapping[str, str]) -> str:
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


def _idempotence_conflict(used: Used, applied: Used) -> str:
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


PRODUCER = ClientRules(
    client="producer",
    other="consumer",
    defaults=DEFAULTS,
    typed_value=typed_value,
    # With the defaults, the names of `ProducerConfig.configNames()`.
    not_varied=re.compile(
        rf"{COMMON_NOT_VARIED}|(key|value)\.serializer|transaction\.(timeout\.ms|two\.phase\.commit\.enable)"
    ),
    of_the_other=consumer_properties.DEFAULTS,
    changes_the_meaning=_changes_the_meaning,
    set_by_the_load={},
    never_empty=("partitioner.class", "transactional.id"),
    why_no_start=_why_no_start,
    notes=_notes,
    spring_names={
        "acks": "acks",
        "batchsize": "batch.size",
        "bootstrapservers": "bootstrap.servers",
        "buffermemory": "buffer.memory",
        "clientid": "client.id",
        "compressiontype": "compression.type",
        "keyserializer": "key.serializer",
        "retries": "retries",
        "transactionidprefix": "transactional.id",
        "valueserializer": "value.serializer",
    },
    spring_values={"batch.size": bytes_text, "buffer.memory": bytes_text},
    librdkafka_defaults={
        "batch.size": "batch.size (1000000)",
        "buffer.memory": "queue.buffering.max.kbytes (1048576)",
        "delivery.timeout.ms": "message.timeout.ms (300000)",
        "enable.idempotence": "enable.idempotence (false)",
        "max.in.flight.requests.per.connection": "max.in.flight (1000000)",
    },
    spring_defaults={},
    example="linger.ms=20",
)
