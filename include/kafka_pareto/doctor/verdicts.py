"""Judge readings by the guide's rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_pareto.doctor.guide import Check, NotApplicable, Plain, Rule, SizedFor, words_of
from kafka_pareto.doctor.readings import Reading, plain_text
from kafka_pareto.doctor.records import Finding

UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Circumstances:
    """Facts that checks depend on and rules may scale with; None if unknown.

    Attributes:
        kafka_version: Such as `4.3`.
        linux_version: Kernel of the brokers' machine, such as `6.1.0-32-amd64`.
        cores: Cores of the brokers' machine.
        link: Speeds of the brokers' interfaces, in Mbit/s.
        memory_gb_per_broker: Each broker's share of its machine's memory.
        file_systems: Types under the brokers' log folders; empty if none is visible.
    """

    kafka_version: str | None
    linux_version: str | None
    cores: int | None
    link: Reading
    memory_gb_per_broker: float | None
    file_systems: frozenset[str] = frozenset()


def judge(check: Check, reading: Reading, circumstances: Circumstances) -> Finding:
    """Return the verdict, with the rule scaled to this machine and a fix only if not met.

    A check is not met if one value breaks the rule and is not safer; else not readable if a value is missing; else
    safer or met.
    """
    finding = _judged(check, reading, circumstances)
    if finding.verdict == "not_met":
        return finding
    return finding.model_copy(update={"check": finding.check.model_copy(update={"fix": ""})})


def _judged(check: Check, reading: Reading, circumstances: Circumstances) -> Finding:
    found = list(reading.found)
    if check.not_applicable is not None and _is_outdated(check.not_applicable, circumstances):
        return Finding(check=check, verdict="not_applicable", found=[], reason="guide_is_older")
    if not reading.is_applicable:
        return Finding(check=check, verdict="not_applicable", found=found, reason=reading.reason)
    if check.sized_for is not None:
        if reason := _made_for_another(check.sized_for, circumstances):
            return Finding(check=check, verdict="not_applicable", found=found, reason=reason)
        if reason := _size_unknown(check.sized_for, circumstances):
            return Finding(check=check, verdict="not_readable", found=found, reason=reading.reason or reason)
        check = check.model_copy(update={"rule": _sized(check.rule, check.sized_for, circumstances)})
    if check.rule.cores_times is not None and circumstances.cores is None:
        return Finding(check=check, verdict="not_readable", found=found, reason=reading.reason or "cores_unknown")
    broken = [each.value for each in found if not is_kept(check.rule, each.value, circumstances.cores)]
    if any(not is_safer(check, value, circumstances.cores) for value in broken):
        return Finding(check=check, verdict="not_met", found=found)
    if reading.reason or not found:
        return Finding(check=check, verdict="not_readable", found=found, reason=reading.reason or "not_told")
    return Finding(check=check, verdict="safer" if broken else "met", found=found)


def _made_for_another(sized_for: SizedFor, circumstances: Circumstances) -> str:
    """Return the reason why the guide's value does not apply to this machine; empty if it applies or may apply."""
    if sized_for.link_mbit_s is not None and not circumstances.link.is_applicable:
        return circumstances.link.reason
    has_less = (circumstances.memory_gb_per_broker or math.inf) < (sized_for.memory_gb or 0.0)
    return "made_for_more_memory" if has_less else ""


def _size_unknown(sized_for: SizedFor, circumstances: Circumstances) -> str:
    if sized_for.link_mbit_s is not None and not circumstances.link.found:
        return circumstances.link.reason
    return "memory_unknown" if sized_for.memory_gb and circumstances.memory_gb_per_broker is None else ""


def _sized(rule: Rule, sized_for: SizedFor, circumstances: Circumstances) -> Rule:
    """Return the rule scaled to this machine's slowest link."""
    if sized_for.link_mbit_s is None:
        return rule
    return rule.scaled(min(1.0, *(_number(each.value) / sized_for.link_mbit_s for each in circumstances.link.found)))


def is_kept(rule: Rule, value: Plain | None, cores: int | None) -> bool:
    """Return whether a value meets the rule; a value of another type does not."""
    return _KEPT[rule.key](rule.wanted, value, cores)


def is_safer(check: Check, value: Plain | None, cores: int | None) -> bool:
    """Return whether a value that breaks the rule protects better than the guide's, by the check's `safer`."""
    if value is None:
        return False
    number = _number(value)
    least, most = _bounds(check.rule, cores)
    # Zero and negative values often switch something off, so they are safer only if listed.
    sides = {"above": number > most, "below": 0 < number < least, "other": True}
    return any(sides.get(str(each), _is_equal(each, value)) for each in check.safer)


def _bounds(rule: Rule, cores: int | None) -> tuple[float, float]:
    """Return the rule's smallest and largest number; NaN if it has none."""
    if rule.cores_times is not None:
        wanted: list[Plain] = [] if cores is None else [threads_for(rule.cores_times, cores)]
    else:
        wanted = rule.wanted if isinstance(rule.wanted, list) else [rule.wanted]
    numbers = [number for each in wanted if not math.isnan(number := _number(each))]
    return (min(numbers), max(numbers)) if numbers else (math.nan, math.nan)


def threads_for(share: float, cores: int) -> int:
    """Return the threads for this share of the cores, at least one."""
    return max(1, math.ceil(share * cores))


def _is_outdated(since: NotApplicable, circumstances: Circumstances) -> bool:
    if since.kafka_from is not None:
        return _is_from(circumstances.kafka_version, since.kafka_from)
    if since.linux_from is not None:
        return _is_from(circumstances.linux_version, since.linux_from)
    if since.file_system_is_not is not None:
        return bool(circumstances.file_systems) and since.file_system_is_not not in circumstances.file_systems
    return True


def _is_from(version: str | None, first: str) -> bool:
    if version is None:
        return False
    if version.startswith("level "):  # newer than this tool's Kafka client
        return True
    return _parts(version) >= _parts(first)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split(".")[:2])


def _number(value: Plain | None) -> float:
    if value == UNLIMITED:
        return math.inf
    try:
        return math.nan if isinstance(value, bool) else float(plain_text(value))
    except ValueError:
        return math.nan


def _is_equal(wanted: Plain, value: Plain | None) -> bool:
    if plain_text(wanted) == plain_text(value):
        return True
    return not isinstance(wanted, bool) and _number(value) == _number(wanted)


def _each_at_least(wanted: list[float], value: Plain | None) -> bool:
    found = [_number(word) for word in words_of(plain_text(value))]
    return len(found) == len(wanted) and all(one >= least for one, least in zip(found, wanted, strict=True))


_KEPT: Mapping[str, Callable[[Any, Plain | None, int | None], bool]] = {
    "equals": lambda wanted, value, _: _is_equal(wanted, value),
    "at_least": lambda wanted, value, _: _number(value) >= wanted,
    "at_most": lambda wanted, value, _: _number(value) <= wanted,
    "between": lambda wanted, value, _: wanted[0] <= _number(value) <= wanted[1],
    "one_of": lambda wanted, value, _: any(_is_equal(each, value) for each in wanted),
    "each_at_least": lambda wanted, value, _: _each_at_least(wanted, value),
    "any_word": lambda wanted, value, _: bool(set(wanted) & set(words_of(plain_text(value)))),
    "prefix": lambda wanted, value, _: all(word.startswith(wanted) for word in words_of(plain_text(value))),
    "cores_times": lambda share, value, cores: cores is not None and _number(value) == threads_for(share, cores),
    "looked_at": lambda _, __, ___: True,
}
