"""Short description of a configuration, shown beside its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_pareto.kafka.known_properties import PropertyValue

_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"))


def configuration_words(configuration: Mapping[str, PropertyValue], separator: str = " · ") -> str:
    """Describe a (partial) configuration in one line, like `zstd · 488 KiB · linger 0 ms · acks all`.

    The most important settings come first in fixed order; the others follow by name, as `name value`. Use ", " as
    `separator` in ASCII text or within a sentence.
    """
    first = [say(configuration[name]) for name, say in _WORDS.items() if name in configuration]
    others = [f"{name} {_plain(configuration[name])}" for name in sorted(configuration) if name not in _WORDS]
    return separator.join([*first, *others])


def bytes_text(value: PropertyValue) -> str:
    """Format bytes in the unit that leaves one to four digits before the point."""
    size = int(value)
    for unit, name in _UNITS:
        if size >= unit:
            amount = size / unit
            return f"{amount:.0f} {name}" if amount >= 100 else f"{amount:.3g} {name}"
    return f"{size} B"


def _plain(value: PropertyValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_WORDS: dict[str, Callable[[PropertyValue], str]] = {
    "compression.type": lambda value: "no compression" if value == "none" else _plain(value),
    "batch.size": bytes_text,
    "linger.ms": lambda value: f"linger {_plain(value)} ms",
    "acks": lambda value: f"acks {_plain(value)}",
    "buffer.memory": lambda value: f"buffer {bytes_text(value)}",
}
