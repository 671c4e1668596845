"""Define the rules for a settings file of librdkafka's producer, as in its CONFIGURATION.md (2.16)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kafka_pareto.kafka import consumer_properties
from kafka_pareto.kafka.client_rules import COMMON_NOT_VARIED, ClientRules, Form, Used
from kafka_pareto.kafka.known_properties import IN_FLIGHT, MOST_IN_FLIGHT_IDEMPOTENT
from kafka_pareto.kafka.librdkafka_properties import BACKPRESSURE, DEFAULTS, typed_value

_CHANGES_THE_MEANING = {
    "plugin.library.paths": "the load generator cannot run your plugins",
    "queuing.strategy": "the load generator sends in order, and cannot measure another strategy",
    "transactional.id": "transactions cannot be measured, and each costs a round trip",
}


def _changes_the_meaning(name: str, _: str) -> str:
    return _CHANGES_THE_MEANING.get(name, "")


def _notes(_: Form, __: Used, ___: Mapping[str, str]) -> Iterator[str]:
    return iter(())


def _why_no_start(used: Used, written_as: Mapping[str, str], _: Mapping[str, str]) -> str:
    """Return the setting that conflicts with another; empty if there is none."""
    linger_ms, within_ms = (int({**DEFAULTS, **used}[name]) for name in ("linger.ms", "delivery.timeout.ms"))
    waits = within_ms != 0 and linger_ms >= within_ms
    needed = (
        {"delivery.timeout.ms": (not waits, f"above linger.ms ({linger_ms})")}
        if "delivery.timeout.ms" in used
        else {"linger.ms": (not waits, f"below delivery.timeout.ms ({within_ms}, the default)")}
    )
    if used.get("enable.idempotence") is True:
        most, with_it = MOST_IN_FLIGHT_IDEMPOTENT, "with enable.idempotence=true"
        needed |= {
            "acks": (used.get("acks", "all") == "all", f"all {with_it}"),
            "retries": (used.get("retries") != 0, f"above 0 {with_it}"),
            IN_FLIGHT: (int(used.get(IN_FLIGHT, 1)) <= most, f"at most {most} {with_it}"),
            BACKPRESSURE: (int(used.get(BACKPRESSURE, 1)) == 1, f"1 {with_it}"),
        }
    for name, (holds, rule) in needed.items():
        if not holds:
            return f"{written_as[name]}={used[name]} must be {rule}; otherwise librdkafka's producer does not start"
    return ""


LIBRDKAFKA_PRODUCER = ClientRules(
    client="librdkafka",
    name="librdkafka's producer",
    other="consumer",
    defaults=DEFAULTS,
    typed_value=typed_value,
    not_varied=re.compile(
        rf"{COMMON_NOT_VARIED}|metadata\.broker\.list|builtin\.features|debug|enabled_events|opaque|client\.software\..+"
        r"|(log|broker|api|internal|topic\.metadata|oauthbearer|reconnect|https?)[._].+|log_level|statistics\.interval\.ms"
        r"|delivery\.report\.only\.error|socket\.(keepalive\.enable|max\.fails|timeout\.ms|connection\..+)"
        r"|[a-z_]+_cb|enable\.(random\.seed|ssl\..+|sasl\..+|metrics\.push)|receive\.message\.max\.bytes"
    ),
    of_the_other=consumer_properties.DEFAULTS,
    changes_the_meaning=_changes_the_meaning,
    set_by_the_load={},
    never_empty=(),
    why_no_start=_why_no_start,
    notes=_notes,
    spring_names={},
    spring_values={},
    librdkafka_defaults={},
    spring_defaults={},
    example="linger.ms=20",
)
