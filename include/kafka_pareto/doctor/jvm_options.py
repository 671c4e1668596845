"""Read the options the guide names from a JVM's command line, and no others, since it may contain secrets.

The result has numbers, sizes, switches and whether logs are written. Options from the environment
(`JAVA_TOOL_OPTIONS`, `JDK_JAVA_OPTIONS`) are not detected.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafka_pareto.doctor.guide import Plain

_TAKE_A_VALUE = {
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
    "--limit-modules", "--add-exports", "--add-opens", "--add-reads", "--patch-module", "--enable-native-access",
}  # fmt: skip
_OTHER_COLLECTORS = ("UseSerialGC", "UseParallelGC", "UseZGC", "UseShenandoahGC", "UseEpsilonGC")
_SIZE = re.compile(r"(\d+)([kmgt]?)", re.IGNORECASE)
_SCALE = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_HEAP = re.compile(r"-X(ms|mx)(\S+)")
_SWITCH = re.compile(r"-XX:([+-])(\w+)")
_VALUE = re.compile(r"-XX:(\w+)=(\S+)")
_ALIASES = {"InitialHeapSize": "Xms", "MaxHeapSize": "Xmx"}
_HEADLESS = "-Djava.awt.headless="


def jvm_options(argv: Sequence[str], folder: Path) -> dict[str, Plain]:
    """Return the options by name: sizes in bytes, switches as booleans. If one is repeated, the last wins, as in Java.

    Raises:
        OSError: If an argument file cannot be read.
        ValueError: If it cannot be parsed.
    """
    found: dict[str, Plain] = {}
    for option in _options_of_java(argv[1:], folder):
        found.update(_understood(option))
    if any(found.get(name) for name in _OTHER_COLLECTORS):  # a JVM has one collector
        found.setdefault("UseG1GC", False)
    return found


def _options_of_java(arguments: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield Java's own options: those before the main class."""
    words = _expanded(arguments, folder)
    for word in words:
        if word in _TAKE_A_VALUE:
            next(words, None)
        elif word.startswith("-"):
            yield word
        else:
            return


def _expanded(arguments: Sequence[str], folder: Path) -> Iterator[str]:
    for word in arguments:
        if word.startswith("@") and not word.startswith("@@"):
            yield from shlex.split((folder / word[1:]).read_text(encoding="utf-8"), comments=True)
        else:
            yield word


def _understood(option: str) -> dict[str, Plain]:
    if heap := _HEAP.fullmatch(option):
        return _sized(f"X{heap[1]}", heap[2])
    if switch := _SWITCH.fullmatch(option):
        return {switch[2]: switch[1] == "+"}
    if value := _VALUE.fullmatch(option):
        return _sized(_ALIASES.get(value[1], value[1]), value[2])
    if option.startswith(_HEADLESS):
        return {"java.awt.headless": option.removeprefix(_HEADLESS) == "true"}
    if option.startswith("-Xloggc:"):
        return {"gc_log": True}
    if option.startswith("-Xlog:"):
        return _logs(option.removeprefix("-Xlog:"))
    return {"server": True} if option == "-server" else {}


def _sized(name: str, text: str) -> dict[str, Plain]:
    size = _SIZE.fullmatch(text)
    return {name: int(size[1]) * _SCALE[size[2].lower()]} if size else {}


def _logs(configuration: str) -> dict[str, Plain]:
    """Return which logs unified logging (JEP 158) writes, for a value like `gc*,safepoint=debug:file=…`."""
    found: dict[str, Plain] = {}
    for selection in configuration.partition(":")[0].split(","):
        tags, _, level = selection.partition("=")
        for tag in tags.split("+"):
            if tag.rstrip("*") in ("gc", "safepoint"):
                found[f"{tag.rstrip('*')}_log"] = level != "off"
            elif tag in ("all", "disable"):
                found |= dict.fromkeys(("gc_log", "safepoint_log"), tag == "all")
    return found
