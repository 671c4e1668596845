"""Settings over the full range of every producer property, which every exported file must be able to express."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from kafka_pareto.kafka.java import java_environment
from kafka_pareto.kafka.known_properties import BOUNDS, CHOICES, DEFAULTS, PropertyValue, is_idempotent, typed_value
from kafka_pareto.settings import load_settings

_LONG_MAX = 2**63 - 1
_CODECS_WITH_LEVELS = ("gzip", "lz4", "zstd")
# Kafka's producer refuses it, between the values that its bounds name.
_REFUSED = {("compression.gzip.level", 0)}
# A stated delivery.timeout.ms must be at least the sum of these two.
_PART_OF_DELIVERY = ("linger.ms", "request.timeout.ms")


def values_of(name: str) -> list[PropertyValue]:
    """All choices; or both ends, the default, what is near zero and powers of 4; of a level nearly all."""
    if name in CHOICES:
        return [typed_value(name, text) for text in CHOICES[name]]
    least, most = BOUNDS.get(name, (-1, None))
    most = _LONG_MAX if most is None else most
    near_zero = range(-20, 30) if name.endswith(".level") else range(-1, 3)
    marks = {least, least + 1, most - 1, most, int(DEFAULTS[name]), *near_zero, *(4**power for power in range(32))}
    return [value for value in sorted(marks) if least <= value <= most and (name, value) not in _REFUSED]


def exported_settings() -> Iterator[dict[str, PropertyValue]]:
    """The settings campaigns may export: every value of every property with the defaults; codecs and sizes crossed."""
    yield {}
    yield DEFAULTS
    for name in DEFAULTS:
        for value in values_of(name):
            yield _exported({name: value})
    for codec in _CODECS_WITH_LEVELS:
        for level in values_of(f"compression.{codec}.level"):
            yield _exported({"compression.type": codec, f"compression.{codec}.level": level})
    for batch in (0, 1000, 1_000_000, 1_000_001, 999_999_999, 2**31 - 1):
        for request in (0, 999, 1000, 1_048_576, 1_000_000_001):
            yield _exported({"batch.size": batch, "max.request.size": request})


def _exported(changed: dict[str, PropertyValue]) -> dict[str, PropertyValue]:
    """As `TuneProducer.properties` has it: with idempotence as it is resolved."""
    settings = {**DEFAULTS, **changed}
    if "delivery.timeout.ms" in changed:
        settings |= dict.fromkeys(_PART_OF_DELIVERY, 0)
    else:
        del settings["delivery.timeout.ms"]
    return {**settings, "enable.idempotence": is_idempotent(settings)}


def read_by_java(program: Path, jars: Path, folder: Path, *arguments: str) -> list[str]:
    """Runs a Java program over the folder's files, in one process, and returns its lines."""
    argv = [
        load_settings().java,
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        "-cp",
        f"{jars}/*",
        str(program),
        str(folder),
        *arguments,
    ]
    done = subprocess.run(argv, env=java_environment(), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
