"""Define the rules for a producer's settings file, as in `ProducerConfig` and `KafkaProducer` of Kafka 4.3.1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kafka_pareto.kafka import consumer_properties
from kafka_pareto.kafka.client_rules import COMMON_NOT_VARIED, ClientRules, Form, Used
from kafka_pareto.kafka.known_properties import (
    DEFAULTS,
    IN_FLIGHT,
    INT_MAX,
    MOST_IN_FLIGHT_IDEMPOTENT,
    resolved,
    typed_value,
)
from kafka_pareto.kafka.spring_values import bytes_text

_CHANGES_THE_MEANING = {
    "interceptor.classes": "the load generator cannot run your interceptors",
    "partitioner.class": "a partitioner decides which records share a batch, and the load generator cannot run yours",
    "transactional.id": "transactions cannot be measured, and each costs a round trip",
}
_NEEDS_FEW_IN_FLIGHT = f"needs at most {MOST_IN_FLIGHT_IDEMPOTENT} requests in flight"


def _changes_the_meaning(name: str, _: str) -> str:
    return _CHANGES_THE_MEANING.get(name, "")


def _notes(form: Form, used: Used, _: Mapping[str, str]) -> Iterator[str]:
    if form == "librdkafka" or "enable.idempotence" in used:
        return
    if int(used.get(IN_FLIGHT, 0)) > MOST_IN_FLIGHT_IDEMPOTENT:
        yield (
            f"{IN_FLIGHT}={used[IN_FLIGHT]} is measured without idempotence, as in clients before Kafka 4.0; newer "
            f"clients need enable.idempotence=false to start, since idempotence {_NEEDS_FEW_IN_FLIGHT}"
        )


def _why_no_start(used: Used, written_as: Mapping[str, str], _: Mapping[str, str]) -> str:
    """Return the reason why a producer with these settings does not start or cannot send; empty if it works."""
    applied = resolved(used)
    if reason := _idempotence_conflict(used, applied):
        return f"{reason}; otherwise Kafka's producer does not start"
    linger_ms, request_ms = min(int(applied["linger.ms"]), INT_MAX), int(applied["request.timeout.ms"])
    if "delivery.timeout.ms" in used and int(used["delivery.timeout.ms"]) < min(linger_ms + request_ms, INT_MAX):
        return (
            f"{written_as['delivery.timeout.ms']}={used['delivery.timeout.ms']} must be at least linger.ms + "
            f"request.timeout.ms ({linger_ms} + {request_ms}); otherwise Kafka's producer does not start"
        )
    if int(applied["buffer.memory"]) < int(applied["batch.size"]):
        return (
            f"buffer.memory={applied['buffer.memory']} must be at least batch.size={applied['batch.size']}; otherwise "
            "every send fails"
        )
    return ""


def _idempotence_conflict(used: Used, applied: Used) -> str:
    """Return the rule broken by a setting with `enable.idempotence=true`; empty if there is none."""
    if used.get("enable.idempotence") is not True:
        return ""
    if applied["acks"] != "all":
        return f"acks={applied['acks']} must be all with enable.idempotence=true"
    if applied["retries"] == 0:
        return "retries=0 must be above 0 with enable.idempotence=true"
    if int(applied[IN_FLIGHT]) > MOST_IN_FLIGHT_IDEMPOTENT:
        most = MOST_IN_FLIGHT_IDEMPOTENT
        return f"{IN_FLIGHT}={applied[IN_FLIGHT]} must be at most {most} with enable.idempotence=true"
    return ""


PRODUCER = ClientRules(
    client="producer",
    name="Kafka's producer",
    other="consumer",
    defaults=DEFAULTS,
    typed_value=typed_value,
    # Together with the defaults, the names of `ProducerConfig.configNames()`.
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
