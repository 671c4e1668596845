"""Translate librdkafka's client settings (CONFIGURATION.md, 2.16) to those of Java's clients."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_pareto.kafka import librdkafka_properties
from kafka_pareto.kafka.known_properties import DEFAULTS, INT_MAX

_NAMES = {
    "auto.commit.enable": "enable.auto.commit",
    "compression.codec": "compression.type",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "message.max.bytes": "max.request.size",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "metadata.broker.list": "bootstrap.servers",
    "partitioner": "partitioner.class",
    "queue.buffering.max.kbytes": "buffer.memory",
    "queue.buffering.max.ms": "linger.ms",
    "request.required.acks": "acks",
    "sasl.mechanisms": "sasl.mechanism",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "socket.send.buffer.bytes": "send.buffer.bytes",
}
_WITHOUT_COUNTERPART = {
    "api.version.fallback.ms",
    "api.version.request",
    "api.version.request.timeout.ms",
    "batch.num.messages",
    "broker.address.family",
    "broker.address.ttl",
    "broker.version.fallback",
    "compression.level",
    "consume.callback.max.messages",
    "coordinator.query.interval.ms",
    "debug",
    "delivery.report.only.error",
    "enable.auto.offset.store",
    "enable.gapless.guarantee",
    "enable.partition.eof",
    "enable.random.seed",
    "enable.ssl.certificate.verification",
    "fetch.error.backoff.ms",
    "fetch.queue.backoff.ms",
    "group.protocol.type",
    "internal.termination.signal",
    "log.connection.close",
    "log.queue",
    "log.thread.name",
    "log_level",
    "message.copy.max.bytes",
    "offset.store.method",
    "offset.store.path",
    "offset.store.sync.interval.ms",
    "plugin.library.paths",
    "queue.buffering.backpressure.threshold",
    "queue.buffering.max.messages",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "queuing.strategy",
    "receive.message.max.bytes",
    "sasl.password",
    "sasl.username",
    "socket.keepalive.enable",
    "socket.max.fails",
    "socket.nagle.disable",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "statistics.interval.ms",
    "sticky.partitioning.linger.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.fast.interval.ms",
    "topic.metadata.refresh.interval.ms",
    "topic.metadata.refresh.sparse",
}
_TOPIC = "topic."
# Topic settings, which kcat and others write with a prefix.
_OF_TOPICS = {
    "acks",
    "auto.commit.enable",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "compression.codec",
    "compression.level",
    "compression.type",
    "consume.callback.max.messages",
    "delivery.timeout.ms",
    "message.timeout.ms",
    "offset.store.method",
    "offset.store.path",
    "offset.store.sync.interval.ms",
    "partitioner",
    "queuing.strategy",
    "request.required.acks",
    "request.timeout.ms",
}
# librdkafka accepts these in upper or lower case, Java's clients only in lower case.
_WORDS = ("acks", "auto.offset.reset", "compression.type", "isolation.level")
_RESETS = {"beginning": "earliest", "smallest": "earliest", "end": "latest", "largest": "latest", "error": "none"}
_SWITCHES = ("check.crcs", "enable.auto.commit", "enable.idempotence")
_TRUE_OR_FALSE = {"1": "true", "t": "true", "0": "false", "f": "false"}
# Settings whose 0 means unlimited or the system's default, with Java's value for that.
_ZERO = {
    "connections.max.idle.ms": "-1",
    "delivery.timeout.ms": str(INT_MAX),
    "receive.buffer.bytes": "-1",
    "send.buffer.bytes": "-1",
}
_LEVEL = "compression.level"
_LEAST_LZ4_HC_LEVEL = 3


def shown_by(names: Mapping[str, str]) -> bool:
    """Return whether one of the names exists only in librdkafka."""
    return any(name != _bare(name) or name in _NAMES or name in _WITHOUT_COUNTERPART for name in names)


def without_counterpart(name: str) -> bool:
    """Return whether Java's client lacks this setting of librdkafka."""
    return name in _WITHOUT_COUNTERPART


def translated(given: Mapping[str, str]) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """Return (name as written, Kafka's name, Java's value) of each setting, and ignored names with the reason."""
    settings, ignored = [], {}
    bare = {_bare(written): value for written, value in given.items()}
    codec = bare.get("compression.type", bare.get("compression.codec", "none")).strip().lower()
    for written, value in given.items():
        if _bare(written) == _LEVEL:
            name, level, reason = _level(codec, value.strip())
            if reason:
                ignored[written] = reason
            else:
                settings.append((written, name, level))
        else:
            name = _NAMES.get(_bare(written), _bare(written))
            settings.append((written, name, _in_java(written, name, value)))
    return settings, ignored


def unified(given: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return (name as written, name without prefix or alias, value in lower case) of each setting."""
    known, found = librdkafka_properties, []
    for written, value in given.items():
        name = known.ALIASES.get(_bare(written), _bare(written))
        if name in known.CHOICES:
            word = value.strip().lower()
            value = _TRUE_OR_FALSE.get(word, word) if isinstance(known.DEFAULTS[name], bool) else word  # noqa: PLW2901
        found.append((written, name, value))
    return found


def _bare(written: str) -> str:
    name = written.removeprefix(_TOPIC)
    return name if name in _OF_TOPICS else written


def _in_java(written: str, name: str, value: str) -> str:
    word = value.strip().lower()
    if written == "queue.buffering.max.kbytes" and word.isdecimal():
        return str(int(word) * 1024)
    if name in _ZERO and word == "0":
        return _ZERO[name]
    if name in _WORDS:
        return _RESETS.get(word, word) if name == "auto.offset.reset" else word
    return _TRUE_OR_FALSE.get(word, value) if name in _SWITCHES else value


def _level(codec: str, level: str) -> tuple[str, str, str]:
    """Return Java's name and level, and the reason if it is ignored."""
    name = f"compression.{codec}.level"
    if name not in DEFAULTS:
        return name, level, f"does not apply to compression.type={codec}"
    if level == "-1":
        return name, level, "is the codec's default"
    if codec == "lz4" and level.isdecimal():
        if int(level) < _LEAST_LZ4_HC_LEVEL:
            return name, str(DEFAULTS[name]), ""  # the fast compressor is Java's default level
        if int(level) == DEFAULTS[name]:
            return name, level, f"means the fast compressor in Java's client, which has no lz4 level {level}"
    return name, level, ""
